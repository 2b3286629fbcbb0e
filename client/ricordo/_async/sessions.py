"""Short-term memory: `client.sessions`."""

from collections.abc import Mapping

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._async.session_learning import AsyncSessionLearning
from ricordo._async.session_turns import AsyncSessionTurns
from ricordo._convert import session_requests as requests
from ricordo._convert.paging import at_page
from ricordo._convert.turns import decode_deleted, decode_session
from ricordo.filters import FilterInput
from ricordo.models import MetadataValue


class AsyncSessions(AsyncSessionTurns, AsyncSessionLearning):
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
