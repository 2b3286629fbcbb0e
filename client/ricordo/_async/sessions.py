"""Short-term memory: `client.sessions`."""

from collections.abc import Iterable, Mapping, Sequence

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.ingestion import AsyncIngestion
from ricordo._async.operations import AsyncOperationHandle, AsyncOperations
from ricordo._async.pager import AsyncPager
from ricordo._convert import session_requests as requests
from ricordo._convert.generation import generation_options, read_generation
from ricordo._convert.operations import decode_operation
from ricordo._convert.paging import at_page
from ricordo._convert.searches import decode_turn_hits, encode_options
from ricordo._convert.snapshots import (
    decode_snapshot,
    decode_status,
    get_extraction_status_request,
    list_snapshots_request,
    promote_session_request,
)
from ricordo._convert.turns import (
    decode_deleted,
    decode_deleted_turn,
    decode_recorded,
    decode_session,
    decode_turn,
)
from ricordo.filters import FilterInput
from ricordo.models import MetadataValue, SearchMode, View


class AsyncSessions:
    """Records turns and reads them back. A turn can be searched when its write returns.

    A session is named by its scope: a user or labels, and `session_id`. On every call, `store` is the store's id
    (None: `default`) and `timeout` is in seconds, retries included (None: the client's). A `request_id` (at most 128
    characters, kept 24 hours) makes a repeat by the caller safe; without one, each call makes its own, which covers
    its retries. Failures are `MemoryAPIError`s.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(
        self,
        scope: models.Scope,
        *,
        parent_session_id: str = "",
        metadata: Mapping[str, MetadataValue] | None = None,
        trigger_rule: models.TriggerRule | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Session:
        """Creates a session.

        Args:
            scope: A user or labels; without a `session_id` the server makes one.
            parent_session_id: The session it belongs under.
            metadata: Pairs of your own.
            trigger_rule: When its turns are made memories of; None: when the project's policy says.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: It exists.
        """
        request = requests.create_session_request(
            scope,
            parent_session_id=parent_session_id,
            metadata=metadata,
            trigger_rule=trigger_rule,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.sessions.CreateSession, request, timeout)
        return decode_session(reply.session)

    async def get(
        self, scope: models.Scope, *, store: str | None = None, timeout: float | None = None
    ) -> models.Session:
        """Reads a session.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.get_session_request(scope, store=store)
        reply = await self._connection.call(lambda stubs: stubs.sessions.GetSession, request, timeout)
        return decode_session(reply.session)

    def list(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        filters: FilterInput | None = None,
        order_by: str = "",
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.Session]:
        """Lists sessions, last active first unless `order_by` says otherwise; nothing is fetched until iterated.

        Args:
            scope: Whose; None: every session that the credential may read.
            filters: Further conditions: see `ricordo.filters`.
            order_by: Of create_time, update_time, last_activity_time and session_id at most 4.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            store: The store.
            timeout: Seconds for each page.
        """
        request = requests.list_sessions_request(
            scope=scope, filters=filters, order_by=order_by, page_size=page_size, store=store
        )

        async def fetch(token: str) -> models.Page[models.Session]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.sessions.ListSessions, asked, timeout)
            return models.Page(tuple(map(decode_session, reply.sessions)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def update(
        self,
        scope: models.Scope,
        *,
        metadata: Mapping[str, MetadataValue],
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Session:
        """Gives a session other metadata.

        Args:
            scope: The session: a user or labels, and `session_id`.
            metadata: Takes the place of what was there.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.update_session_request(
            scope, metadata=metadata, store=store, request_id=request_id
        )
        reply = await self._connection.call(lambda stubs: stubs.sessions.UpdateSession, request, timeout)
        return decode_session(reply.session)

    async def delete(
        self,
        scope: models.Scope,
        *,
        cascade: bool = False,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.DeletedSession:
        """Deletes a session, its turns, and what was learned from these alone.

        Args:
            scope: The session: a user or labels, and `session_id`.
            cascade: Also delete every session that descends from it.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Returns:
            How much went with it.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.delete_session_request(scope, cascade=cascade, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.sessions.DeleteSession, request, timeout)
        return decode_deleted(reply)

    async def fork(
        self,
        scope: models.Scope,
        *,
        up_to_turn_id: str = "",
        session_id: str = "",
        metadata: Mapping[str, MetadataValue] | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Session:
        """Copies a session into a new one of the same user and labels; the two are independent from then on.

        Args:
            scope: The session that is copied: a user or labels, and `session_id`.
            up_to_turn_id: The last turn that is copied; "": all are.
            session_id: The id of the copy; "": the server makes one.
            metadata: Pairs of the copy, which takes none from the original.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Returns:
            The copy, whose parent is the session that was copied.

        Raises:
            AlreadyExistsError: There is a session of this id.
            NotFoundError: There is no such session, or no such turn in it.
        """
        request = requests.fork_session_request(
            scope,
            up_to_turn_id=up_to_turn_id,
            session_id=session_id,
            metadata=metadata,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.sessions.ForkSession, request, timeout)
        return decode_session(reply.session)

    async def clear(
        self,
        scope: models.Scope,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.DeletedSession:
        """Deletes every turn of a session, and what was learned from these alone; the session stays.

        Returns:
            How much went; no session did.

        Raises:
            NotFoundError: There is no such session.
        """
        request = requests.clear_session_request(scope, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.sessions.ClearSession, request, timeout)
        return decode_deleted(reply)

    async def pop_turn(
        self,
        scope: models.Scope,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Turn:
        """Removes the last turn of a session, with what was learned from it alone, and answers it.

        Raises:
            NotFoundError: There is no such session, or it has no turn.
        """
        request = requests.pop_turn_request(scope, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.sessions.PopTurn, request, timeout)
        return decode_turn(reply.turn)

    async def record_turn(
        self,
        turn: models.NewTurn,
        *,
        scope: models.Scope,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.RecordedTurn:
        """Records a turn, in a session made on the way when it is new.

        Args:
            turn: What was said.
            scope: The session: a user or labels, and `session_id`.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.
        """
        request = requests.record_turn_request(turn, scope=scope, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.sessions.RecordTurn, request, timeout)
        return decode_recorded(reply)

    async def batch_record_turns(
        self,
        turns: Iterable[models.NewTurn],
        *,
        scope: models.Scope,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> tuple[models.RecordedTurn, ...]:
        """Records 1 to 500 turns of one session, numbered in the given order, all or nothing.

        Args:
            turns: What was said.
            scope: The session: a user or labels, and `session_id`.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.
        """
        request = requests.batch_record_turns_request(turns, scope=scope, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.sessions.BatchRecordTurns, request, timeout)
        return tuple(map(decode_recorded, reply.results))

    async def ingest(
        self,
        turns: Iterable[models.NewTurn],
        *,
        scope: models.Scope,
        trigger_rule: models.TriggerRule | None = None,
        force_flush: bool = False,
        consolidate: bool = True,
        allowed_topics: Sequence[models.Topic] = (),
        metadata: Mapping[str, object] | None = None,
        metadata_merge_strategy: models.MetadataMergeStrategy | str | None = None,
        revision_options: models.RevisionOptions | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> AsyncIngestion:
        """Records turns of a stream of events, and says when memories are made of them.

        A turn with a known `idempotency_key` (the event's id) is not recorded again. Turns are learned from in the
        order of their `event_time`, else as they came.

        Args:
            turns: What was said, up to 500; none with `trigger_rule` or `force_flush`.
            scope: The session, made on the way: a user or labels, and `session_id`.
            trigger_rule: Kept on the session, for these turns and all that wait or come; `TriggerRule()`: the
                project's policy again. None: as it is.
            force_flush: Make memories of all turns that wait, now.
            consolidate: False: no memory is updated or replaced for what is said now.
            allowed_topics: Keep only what is about one of these; none: everything.
            metadata: For each memory made or updated of the turns that wait.
            metadata_merge_strategy: How it meets that of a memory which is updated; None: `overwrite`.
            revision_options: How each change is kept as a revision; None: as the store says.
            store: The store; None: `default`.
            request_id: Makes a repeat by the caller safe.
            timeout: Seconds; None: the client's.

        Raises:
            MemoryBadRequestError: The rule makes no sense.
        """
        generation = generation_options(
            consolidate=consolidate,
            allowed_topics=allowed_topics,
            metadata=metadata,
            metadata_merge_strategy=metadata_merge_strategy,
            revision_options=revision_options,
        )
        request = requests.ingest_request(
            turns,
            scope=scope,
            trigger_rule=trigger_rule,
            force_flush=force_flush,
            generation=generation,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.sessions.BatchRecordTurns, request, timeout)
        operation = decode_operation(reply.operation) if reply.HasField("operation") else None
        operations = AsyncOperations(self._connection)
        handle = AsyncOperationHandle(operations, operation, read_generation) if operation else None
        return AsyncIngestion(tuple(map(decode_recorded, reply.results)), handle)

    async def get_turn(
        self, turn_id: str, *, store: str | None = None, timeout: float | None = None
    ) -> models.Turn:
        """Reads a turn.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.get_turn_request(turn_id, store=store)
        reply = await self._connection.call(lambda stubs: stubs.sessions.GetTurn, request, timeout)
        return decode_turn(reply.turn)

    async def delete_turn(
        self,
        turn_id: str,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.DeletedTurn:
        """Deletes a turn, and what was learned from it alone; the numbers of the others stay.

        Returns:
            How much went with it.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.delete_turn_request(turn_id, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.sessions.DeleteTurn, request, timeout)
        return decode_deleted_turn(reply)

    def list_turns(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        filters: FilterInput | None = None,
        order_by: str = "",
        view: View | str = View.FULL,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.Turn]:
        """Lists turns as they were recorded, unless `order_by` says otherwise; nothing is fetched until iterated.

        Args:
            scope: Whose; None: every turn that the credential may read.
            filters: Further conditions: see `ricordo.filters`.
            order_by: Of turn_seq, create_time and event_time at most 4.
            view: `basic` leaves out content, tool calls and data.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            store: The store.
            timeout: Seconds for each page.
        """
        request = requests.list_turns_request(
            scope=scope, filters=filters, order_by=order_by, view=view, page_size=page_size, store=store
        )

        async def fetch(token: str) -> models.Page[models.Turn]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.sessions.ListTurns, asked, timeout)
            return models.Page(tuple(map(decode_turn, reply.turns)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def search_turns(
        self,
        query: str = "",
        *,
        query_embedding: Sequence[float] = (),
        mode: SearchMode | str = SearchMode.HYBRID,
        fusion: models.FusionMethod | str | None = None,
        semantic_weight: float | None = None,
        top_k: int | None = None,
        min_similarity: float | None = None,
        scope: models.ScopeFilter | None = None,
        filters: FilterInput | None = None,
        explain: bool = False,
        include_embedding: bool = False,
        store: str | None = None,
        timeout: float | None = None,
    ) -> models.SearchResult[models.TurnHit]:
        """Finds turns, best first; ties by recency, then id.

        The arguments are those of `memories.search`.

        Raises:
            MemoryClientError: The filter is malformed.
            ServiceUnavailableError: The embedding model is down, and `mode` is `semantic`.
        """
        options = encode_options(
            query,
            query_embedding=query_embedding,
            mode=mode,
            fusion=fusion,
            semantic_weight=semantic_weight,
            top_k=top_k,
            min_similarity=min_similarity,
            explain=explain,
        )
        request = requests.search_turns_request(
            options, scope=scope, filters=filters, include_embedding=include_embedding, store=store
        )
        reply = await self._connection.call(lambda stubs: stubs.sessions.SearchTurns, request, timeout)
        return decode_turn_hits(reply)

    async def promote(
        self,
        scope: models.Scope,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> tuple[str, ...]:
        """Has the turns that are in no snapshot extracted now, in the background; also where extraction is off.

        Args:
            scope: The session: a user or labels, and a `session_id`.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Returns:
            The ids of the new snapshots, oldest first; none when every turn is in one.

        Raises:
            NotFoundError: There is no such session.
        """
        request = promote_session_request(scope, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.extraction.PromoteSession, request, timeout)
        return tuple(reply.snapshot_ids)

    def list_snapshots(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.Snapshot]:
        """Lists snapshots, oldest first; nothing is fetched until iterated.

        Args:
            scope: Only of these sessions.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            store: The store.
            timeout: Seconds for each page.
        """
        request = list_snapshots_request(scope=scope, page_size=page_size, store=store)

        async def fetch(token: str) -> models.Page[models.Snapshot]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.extraction.ListSnapshots, asked, timeout)
            return models.Page(tuple(map(decode_snapshot, reply.snapshots)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def get_extraction_status(
        self, scope: models.Scope, *, store: str | None = None, timeout: float | None = None
    ) -> models.ExtractionStatus:
        """Says through which turn each kind is extracted, what is pending and what failed.

        Args:
            scope: The session: a user or labels, and a `session_id`.
            store: The store.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such session.
        """
        request = get_extraction_status_request(scope, store=store)
        reply = await self._connection.call(
            lambda stubs: stubs.extraction.GetExtractionStatus, request, timeout
        )
        return decode_status(reply)
