"""The audit: its reading, and the denials in it."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from ricordo_server.app.permissions import check_may_administer, check_operator
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project
from ricordo_server.db import audit as audit_db
from ricordo_server.db.connection import Pool, project_transaction
from ricordo_server.domain.audit import AuditOutcome, AuditRecord
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.principal import Principal

log = logging.getLogger(__name__)

# A record of a denial waits no longer for a connection: the caller waits for it.
RECORD_SECONDS = 1.0
# Of how many callers and methods an hour's denials are counted, in each process.
MOST_COUNTED = 10_000


async def list_audit_records(services: Services, call: Call, page: PageRequest) -> Page[AuditRecord]:
    """Newest first.

    Raises:
        DomainError: PERMISSION_DENIED.
    """
    check_may_administer(call.principal)
    async with in_project(services.database.pool, call) as connection:
        return await audit_db.list_records(connection, page)


async def list_operator_records(
    pool: Pool, call: Call, project_id: UUID | None, page: PageRequest
) -> Page[AuditRecord]:
    """What operators did, to one project or at all, newest first; `pool` is the operator's.

    Raises:
        DomainError: PERMISSION_DENIED.
    """
    check_operator(call.principal)
    async with in_project(pool, call) as connection:
        return await audit_db.list_records(connection, page, of_project=project_id)


@dataclass
class DenialCounts:
    """Which denials to record: of a principal and method the 1st, 10th, 100th ... of an hour.

    However many there are, the records stay few and still say how many there were. `clock` is in seconds.
    """

    clock: Callable[[], float] = time.time
    _hour: int = -1
    _counts: dict[tuple[object, ...], int] = field(default_factory=dict)

    def count(self, principal: Principal, method: str) -> int | None:
        """How many there were, when that is to be recorded."""
        hour = int(self.clock() // 3600)
        if hour != self._hour:
            self._hour, self._counts = hour, {}
        key = (principal.project_id, principal.principal_id, method)
        if key not in self._counts and len(self._counts) >= MOST_COUNTED:
            return None
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count if str(count).rstrip("0") == "1" else None


async def record_denial(pool: Pool, counts: DenialCounts, principal: Principal, method: str) -> None:
    """In a transaction of its own, since that of the call is gone; without it the denial stands all the same."""
    occurrences = counts.count(principal, method)
    if occurrences is None:
        return
    try:
        async with project_transaction(pool, principal, timeout=RECORD_SECONDS) as connection:
            await audit_db.write_record(
                connection, principal, method, outcome=AuditOutcome.DENIED, occurrences=occurrences
            )
    except DomainError as error:
        log.warning("a denial was not recorded", extra={"cause": error.reason, "method": method})
