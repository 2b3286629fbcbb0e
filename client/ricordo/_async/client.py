"""The client: every call of the contract, with models instead of messages."""

from copy import copy
from types import TracebackType
from typing import Self

from ricordo._async.channel import AsyncConnection
from ricordo._async.contexts import AsyncContexts
from ricordo._async.extraction import AsyncExtraction
from ricordo._async.identities import AsyncIdentity
from ricordo._async.memories import AsyncMemories
from ricordo._async.memory_banks import AsyncMemoryBanks
from ricordo._async.memory_pipelines import AsyncMemoryPipelines
from ricordo._async.memory_stores import AsyncMemoryStores
from ricordo._async.operations import AsyncOperations
from ricordo._async.projects import AsyncAdmin, AsyncProject
from ricordo._async.session_stores import AsyncSessionStores
from ricordo._async.sessions import AsyncSessions
from ricordo._async.stored_sessions import AsyncSessionParts
from ricordo._async.stores import AsyncStores
from ricordo._settings import DEFAULT_TARGET, DEFAULT_TIMEOUT, TokenProvider, make_credential, make_settings
from ricordo.errors import MemoryClientError
from ricordo.identity import first_given


class AsyncClient:
    """A connection to a Ricordo server, opened at the first call.

    Use it as a context manager, or call `close`. It serves any number of calls at the same time, in one event loop.

    Every call has a deadline. A call that finds the server unavailable is sent again, at most 3 times within that
    deadline: reads are safe to repeat, and so are mutations, for each carries a `request_id`.

    Attributes:
        memories: Long-term memory.
        sessions: Short-term memory.
        extraction: From what was said to memories.
        operations: Work in the background.
        context: One block of context for the next prompt.
        stores: The containers of the project.
        memory_pipelines: Sessions of one store that become documents of another.
        memory_stores: The same as stores of entries, which agents keep under paths.
        session_stores: The same as stores of sessions, each an ordered list of items.
        memory_banks: The same as banks of memories, by free scopes.
        project: The project of the credential.
        identity: Who the caller is, service accounts and tokens.
        admin: The installation, for operators.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        token: str | None = None,
        token_provider: TokenProvider | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        tls: bool | None = None,
        root_certificates: bytes | None = None,
        certificate_chain: bytes | None = None,
        private_key: bytes | None = None,
        local_subchannel_pool: bool = False,
    ) -> None:
        """Describes the connection; nothing is sent yet.

        Args:
            target: "host:port".
            token: The credential, which also names the project; sent as a bearer token.
            token_provider: Gives the token instead: it is called before each call, and once more when its token is
                refused. It may be `async`.
            client_id: A service account, whose tokens the client obtains, and renews before they end.
            client_secret: Its secret.
            timeout: Seconds for a call that names none of its own, retries included.
            tls: Whether to encrypt; None: unless the target is on this machine, or when certificates are given.
            root_certificates: PEM bytes of the authorities to trust instead of the system's.
            certificate_chain: PEM bytes of this client's certificate, for a server that asks for one.
            private_key: PEM bytes of its key.
            local_subchannel_pool: Do not share the connection with other clients of this process: several such
                clients use several processes of a server.

        Raises:
            MemoryClientError: An argument makes no sense.
        """
        settings = make_settings(
            target,
            credential=make_credential(token, token_provider, client_id, client_secret),
            timeout=timeout,
            tls=tls,
            root_certificates=root_certificates,
            certificate_chain=certificate_chain,
            private_key=private_key,
            local_subchannel_pool=local_subchannel_pool,
        )
        self._connect(AsyncConnection(settings))

    def _connect(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.memories = AsyncMemories(self._connection)
        self.sessions = AsyncSessions(self._connection)
        self.operations = AsyncOperations(self._connection)
        self.extraction = AsyncExtraction(self._connection, self.operations)
        self.context = AsyncContexts(self._connection)
        self.stores = AsyncStores(self._connection)
        self.project = AsyncProject(self._connection)
        self.identity = AsyncIdentity(self._connection)
        self.memory_pipelines = AsyncMemoryPipelines(self._connection)
        self.memory_stores = AsyncMemoryStores(self.stores, self.memories)
        self.session_stores = AsyncSessionStores(
            self.stores, AsyncSessionParts(self.sessions, self.extraction, self.memories)
        )
        self.memory_banks = AsyncMemoryBanks(
            self.stores, self.memories, self.extraction, self.sessions, self.operations, self.identity
        )
        self.admin = AsyncAdmin(self._connection)

    def acting_as(self, user_id: str) -> Self:
        """A client whose calls are bound to one end user, as if by a credential of that user.

        For services: such a call sees and writes what the user may, whatever it asks for, and the database holds it
        to that. The connection is shared: closing either client closes both. This client stays as it is. For the
        facade: `AsyncMemory(client=client.acting_as("ada"))`.

        Args:
            user_id: The end user, at most 512 bytes.

        Raises:
            MemoryClientError: It is blank.
        """
        if first_given(user_id) is None:
            raise MemoryClientError("acting_as needs a user_id that is not blank")
        acting = copy(self)
        acting._connect(self._connection.acting_as(user_id))
        return acting

    async def close(self) -> None:
        """Closes the connection; calls in flight are cancelled. Closing again does nothing."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
