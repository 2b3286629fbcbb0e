"""Turns of sessions: a part of `client.sessions`."""

from collections.abc import Iterable, Sequence

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert import session_requests as requests
from ricordo._convert.paging import at_page
from ricordo._convert.searches import decode_turn_hits, encode_options
from ricordo._convert.turns import (
    decode_deleted,
    decode_deleted_turn,
    decode_recorded,
    decode_turn,
)
from ricordo.filters import FilterInput
from ricordo.models import SearchMode, View


class AsyncSessionTurns:
    """Records turns, reads them back and takes them away."""

    _connection: AsyncConnection

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
