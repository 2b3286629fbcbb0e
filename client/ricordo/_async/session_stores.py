"""Session stores, each a container of conversations: `client.session_stores`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ricordo import models
from ricordo._async.pager import AsyncPager
from ricordo._async.store_handles import AsyncStoreHandle, AsyncStoreHandles
from ricordo._async.stored_sessions import AsyncSessionParts, AsyncStoredSession
from ricordo._async.stores import AsyncStores
from ricordo._convert.session_items import split_actor
from ricordo._convert.store_entries import SESSION_STORES, actor, page_size_of
from ricordo.errors import Failure, MemoryClientError, NotFoundError
from ricordo.models import Matching, MetadataValue, Scope


class AsyncSessionStores(AsyncStoreHandles["AsyncSessionStore"]):
    """Creates and finds session stores.

    A store holds sessions and entries: `client.memory_stores` shows the same ones. It is named by its id or as
    "session-stores/<id>". Failures are `MemoryAPIError`s, whose `code` is a name such as "ALREADY_EXISTS". `timeout`
    is in seconds, retries included (None: the client's).
    """

    def __init__(self, stores: AsyncStores, parts: AsyncSessionParts) -> None:
        super().__init__(stores)
        self._parts = parts

    def _handle(self, store: models.Store) -> "AsyncSessionStore":
        return AsyncSessionStore(self._stores, store, self._parts)


@dataclass(frozen=True)
class AsyncSessionStore(AsyncStoreHandle):
    """A store, as a container of sessions."""

    _parts: AsyncSessionParts = field(repr=False)

    @property
    def session_store_id(self) -> str:
        """The store's id."""
        return self.record.store_id

    @property
    def name(self) -> str:
        """ "session-stores/<id>"."""
        return f"{SESSION_STORES}{self.session_store_id}"

    async def add(
        self,
        *,
        actor_id: str,
        session_id: str | None = None,
        parent_session_id: str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        timeout: float | None = None,
    ) -> AsyncStoredSession:
        """Creates a session.

        Args:
            actor_id: Whose it is.
            session_id: Its id; None: the server makes one.
            parent_session_id: The session of the same actor it belongs under.
            metadata: Pairs of one's own.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The actor has a session of this id.
        """
        session = await self._parts.sessions.create(
            Scope(user_id=actor(actor_id), session_id=session_id or ""),
            parent_session_id=parent_session_id or "",
            metadata=metadata,
            store=self.session_store_id,
            timeout=timeout,
        )
        return AsyncStoredSession(self._parts, session)

    async def get(
        self, session_id: str, *, actor_id: str | None = None, timeout: float | None = None
    ) -> AsyncStoredSession:
        """Finds a session.

        Args:
            session_id: Its id.
            actor_id: Whose; may be left out unless several actors have a session of this id.
            timeout: Seconds.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
            MemoryClientError: No id is given; or several actors have one, and none is named.
        """
        if not session_id:
            raise MemoryClientError("session_id is required: list the sessions of an actor to find it")
        scope = Matching(user_id=actor_id or "", session_id=session_id)
        found = self._parts.sessions.list(
            scope=scope, page_size=2, store=self.session_store_id, timeout=timeout
        )
        sessions = [session async for session in found]
        if len(sessions) > 1:
            raise MemoryClientError(f"several actors have a session {session_id!r}: give actor_id")
        if not sessions:
            message = f"there is no session {session_id!r} in {self.name}"
            raise NotFoundError(Failure(code="NOT_FOUND", message=message, reason="SESSION_NOT_FOUND"))
        return AsyncStoredSession(self._parts, sessions[0])

    def list(
        self,
        *,
        actor_id: str | None = None,
        filter: str | None = None,  # noqa: A002 - as system C names it
        order_by: str | None = None,
        page_size: int | None = None,
        page_token: str = "",
        timeout: float | None = None,
    ) -> AsyncPager[AsyncStoredSession]:
        """Lists sessions, newest first; nothing is fetched until iterated.

        Args:
            actor_id: Whose; None: those of every actor.
            filter: `actor_id = "ada"`, and with AND or alone a condition on `session_id`, the times and
                `metadata.<key>`, as `ricordo.filters` describes it.
            order_by: Of create_time, update_time, last_activity_time and session_id, each with " desc" or without.
                None: create_time desc.
            page_size: Sessions fetched at a time, 1 to 100; None: 10.
            page_token: Where to continue.
            timeout: Seconds for each page.

        Raises:
            MemoryClientError: `page_size` is out of range, or two actors are named.
        """
        whose, condition = split_actor(filter, actor_id)
        sessions = self._parts.sessions.list(
            scope=Matching(user_id=whose),
            filters=condition,
            order_by=order_by or "create_time desc",
            page_size=page_size_of(page_size),
            page_token=page_token,
            store=self.session_store_id,
            timeout=timeout,
        )
        return sessions.mapped(lambda session: AsyncStoredSession(self._parts, session))
