"""Whether an account or a project still stands, as this process has asked lately: so revocation takes effect."""

import time
from uuid import UUID

from ricordo_server.db.connection import Pool, project_transaction
from ricordo_server.db.service_accounts import find_role, project_exists
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.domain.service_account import ClientId
from ricordo_server.domain.timed_cache import Clock, TimedCache

# The promise is that a disabled account is refused within 60 s.
FRESH_SECONDS = 30.0
MOST_KEPT = 10_000
ASK_SECONDS = 5.0


def asker(project_id: UUID) -> Principal:
    """The server itself, before it knows who calls: in that project, and with no role there."""
    return Principal("server", PrincipalKind.SERVICE, project_id, frozenset())


class Standing:
    def __init__(self, pool: Pool, clock: Clock = time.monotonic) -> None:
        self._pool = pool
        self._roles = TimedCache(self._find_role, seconds=FRESH_SECONDS, size=MOST_KEPT, clock=clock)
        self._projects = TimedCache(self._find_project, seconds=FRESH_SECONDS, size=MOST_KEPT, clock=clock)

    async def find_role(self, client_id: ClientId) -> Role | None:
        """What the account may do; None when it is disabled or gone, its project too."""
        return await self._roles.get(client_id)

    async def project_exists(self, project_id: UUID) -> bool:
        return await self._projects.get(project_id)

    async def _find_role(self, client_id: ClientId) -> Role | None:
        async with project_transaction(
            self._pool, asker(client_id.project_id), timeout=ASK_SECONDS
        ) as connection:
            return await find_role(connection, client_id.account_id)

    async def _find_project(self, project_id: UUID) -> bool:
        async with project_transaction(self._pool, asker(project_id), timeout=ASK_SECONDS) as connection:
            return await project_exists(connection)
