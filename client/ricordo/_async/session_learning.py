"""What becomes of turns in the background: a part of `client.sessions`."""

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
from ricordo._convert.snapshots import (
    decode_snapshot,
    decode_status,
    get_extraction_status_request,
    list_snapshots_request,
    promote_session_request,
)
from ricordo._convert.turns import decode_recorded


class AsyncSessionLearning:
    """Has memories made of turns, and says how far that is."""

    _connection: AsyncConnection

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
