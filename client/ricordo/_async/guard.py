"""A project named beside a credential is checked against it once, before the first call."""

from ricordo._async.protocols import AsyncMemoryClient
from ricordo.errors import Failure, MemoryAuthError


class AsyncProjectGuard:
    """Refuses a credential of another project than the one the caller named."""

    def __init__(self, client: AsyncMemoryClient, project_id: str) -> None:
        self._client = client
        self._unchecked = project_id.strip()

    async def check(self) -> None:
        """Asks the server, the first time, whose the credential is.

        Raises:
            MemoryAuthError: It belongs to another project.
        """
        wanted = self._unchecked
        if not wanted:
            return
        who = await self._client.identity.who_am_i()
        if who.project_id != wanted:
            message = f"the credential belongs to project {who.project_id or '(none)'}, not to {wanted}"
            raise MemoryAuthError(
                Failure(code="PERMISSION_DENIED", message=message, reason="PERMISSION_DENIED")
            )
        self._unchecked = ""
