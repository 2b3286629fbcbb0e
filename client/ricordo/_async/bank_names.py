"""Names of banks and of what is in them, read and checked."""

from ricordo._async.identities import AsyncIdentity
from ricordo._convert import bank_names
from ricordo._convert.bank_names import Name
from ricordo.errors import Failure, MemoryAuthError


class AsyncBankNames:
    """Reads names. The project that a name begins with is held against the credential, once for each connection."""

    def __init__(self, identity: AsyncIdentity) -> None:
        self._identity = identity
        self._project_id = ""

    async def bank(self, name: str) -> Name:
        """The name of a bank."""
        return await self._checked(bank_names.bank_name(name))

    async def memory(self, name: str) -> Name:
        """The name of a memory."""
        return await self._checked(bank_names.memory_name(name))

    async def revision(self, name: str) -> Name:
        """The name of a revision."""
        return await self._checked(bank_names.revision_name(name))

    async def operation(self, name: str) -> Name:
        """The name of an operation."""
        return await self._checked(bank_names.operation_name(name))

    async def _checked(self, name: Name) -> Name:
        if name.project_id:
            self._project_id = self._project_id or (await self._identity.who_am_i()).project_id
            if name.project_id != self._project_id:
                message = f"the credential belongs to project {self._project_id}, not to {name.project_id}"
                raise MemoryAuthError(
                    Failure(code="PERMISSION_DENIED", message=message, reason="PERMISSION_DENIED")
                )
        return name
