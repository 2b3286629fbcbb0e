"""What every facade handle has: a connection, a store, and who its calls are for."""

import os
from copy import copy
from types import TracebackType
from typing import Self, TypeVar

from ricordo import identity
from ricordo._async.client import AsyncClient
from ricordo._async.guard import AsyncProjectGuard
from ricordo._convert import enums
from ricordo._settings import DEFAULT_TARGET
from ricordo.errors import MemoryClientError
from ricordo.models import MemoryRequestContext, Visibility

Default = TypeVar("Default", str, None)


class AsyncHandle:
    """A handle on the memory of a project."""

    def __init__(
        self,
        target: str | None = None,
        *,
        token: str | None = None,
        project_id: str | None = None,
        store: str | None = None,
        client: AsyncClient | None = None,
    ) -> None:
        """Describes the connection; nothing is sent yet.

        Args:
            target: "host:port"; None: `RICORDO_TARGET`, else localhost:7483.
            token: The credential, which also names the project; None: `RICORDO_TOKEN`, else none.
            project_id: The project that the credential must belong to, checked at the first call.
            store: The store; None: `default`.
            client: A client to use instead of one's own; whoever made it closes it.

        Raises:
            MemoryClientError: `target` or `token` is blank, or given together with `client`.
        """
        if client is not None and (target is not None or token is not None):
            raise MemoryClientError("give target and token, or a client that has them")
        self._owns_client = client is None
        self._client = client or AsyncClient(
            _setting(target, "RICORDO_TARGET", DEFAULT_TARGET), token=_setting(token, "RICORDO_TOKEN", None)
        )
        self._guard = AsyncProjectGuard(self._client, project_id or "")
        self._store = store
        self._bound = identity.NOBODY

    def bind(self, ctx: MemoryRequestContext) -> Self:
        """A new handle whose calls are for `ctx` where they do not say otherwise.

        It shares the connection: closing either closes both. This handle stays as it is.
        """
        bound = copy(self)
        bound._bound = ctx
        return bound

    async def close(self) -> None:
        """Closes the connection, unless the client was given."""
        if self._owns_client:
            await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _who(
        self, *, user_id: str | None = None, agent_id: str | None = None, session_id: str | None = None
    ) -> MemoryRequestContext:
        call = MemoryRequestContext(user_id=user_id, agent_id=agent_id, session_id=session_id)
        return identity.resolve(call, self._bound, identity.current_context())

    def _who_reads(
        self,
        visibility: Visibility | str | None,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        own_session_only: bool = False,
    ) -> MemoryRequestContext:
        return identity.resolve_read(
            MemoryRequestContext(user_id=user_id, session_id=session_id),
            self._bound,
            identity.current_context(),
            visibility=None if visibility is None else enums.VISIBILITY.word(visibility),
            own_session_only=own_session_only,
        )


def _setting(given: str | None, variable: str, default: Default) -> str | Default:
    """What was given, blank or not; else what the environment gives, unless blank; else the default."""
    return given if given is not None else identity.first_given(os.environ.get(variable)) or default
