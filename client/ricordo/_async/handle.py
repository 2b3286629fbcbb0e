"""What every facade handle has: a connection, a store, and who its calls are for."""

from copy import copy
from types import TracebackType
from typing import Self

from ricordo import identity
from ricordo._async.client import AsyncClient
from ricordo._async.guard import AsyncProjectGuard
from ricordo._async.protocols import AsyncMemoryClient
from ricordo._convert.readings import Reading, resolve_reading
from ricordo._settings import DEFAULT_TARGET, TokenProvider, find_credential, setting
from ricordo.errors import MemoryClientError
from ricordo.models import MemoryRequestContext, Visibility


class AsyncHandle:
    """A handle on the memory of a project."""

    def __init__(
        self,
        target: str | None = None,
        *,
        token: str | None = None,
        project_id: str | None = None,
        store: str | None = None,
        api_key: str | None = None,
        token_provider: TokenProvider | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        client: AsyncMemoryClient | None = None,
    ) -> None:
        """Describes the connection; nothing is sent yet.

        What is not given is taken from the environment, unless blank there, or a client is given.

        Args:
            target: "host:port"; None: `RICORDO_TARGET`, else localhost:7483.
            token: The credential, which also names the project; None: `RICORDO_TOKEN`, else none.
            project_id: The project that the credential must belong to, checked at the first call; None:
                `RICORDO_PROJECT_ID`, else not checked.
            store: The store; None: `RICORDO_STORE`, else `default`.
            api_key: The older name of `token`; None: `RICORDO_API_KEY`.
            token_provider: Gives the token instead, see `AsyncClient`.
            client_id: A service account, whose tokens are obtained and renewed; None, when no other credential is
                given: `RICORDO_CLIENT_ID`.
            client_secret: Its secret; None: `RICORDO_CLIENT_SECRET`.
            client: A client to use instead of one's own: an `AsyncClient`, or anything else that answers its calls,
                see `AsyncMemoryClient`. Whoever made it closes it.

        Raises:
            MemoryClientError: `target` or a credential is blank, or given together with `client`; or several
                credentials are given.
        """
        credentials = (token, api_key, token_provider, client_id, client_secret)
        if client is not None and any(given is not None for given in (target, *credentials)):
            raise MemoryClientError("give target and token, or a client that has them")
        self._own_client: AsyncClient | None = None
        if client is None:
            project_id = setting(project_id, "RICORDO_PROJECT_ID")
            store = setting(store, "RICORDO_STORE")
            client = self._own_client = AsyncClient(
                DEFAULT_TARGET if (given := setting(target, "RICORDO_TARGET")) is None else given,
                **find_credential(*credentials),
            )
        self._client: AsyncMemoryClient = client
        self._guard = AsyncProjectGuard(client, project_id or "")
        self._store = identity.first_given(store)
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
        if self._own_client is not None:
            await self._own_client.close()

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

    def _reading(
        self,
        visibility: Visibility | str | None,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        own_session_only: bool = False,
    ) -> Reading:
        return resolve_reading(
            MemoryRequestContext(user_id=user_id, session_id=session_id),
            self._bound,
            identity.current_context(),
            visibility,
            own_session_only=own_session_only,
        )
