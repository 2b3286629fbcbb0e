"""Extractions that were given up: what they were, and another try."""

from ricordo_server.app.extraction_jobs import defer_extraction
from ricordo_server.app.permissions import check_may_read_as, check_may_write
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.scope import ScopeFilter
from ricordo_server.domain.snapshot import ExtractionFailure


async def list_failures(
    services: Services, call: Call, store_id: str, scope: ScopeFilter, page: PageRequest
) -> Page[ExtractionFailure]:
    """Newest first."""
    check_may_read_as(call.principal, scope)
    async with in_store(services.database, call, store_id) as connection:
        return await snapshots_db.list_failures(connection, scope, page)


async def retry_failure(
    services: Services, call: Call, store_id: str, snapshot_id: str, kind: MemoryKind
) -> None:
    """Has the kind extracted from the snapshot again, in the background.

    Raises:
        DomainError: FAILURE_NOT_FOUND.
    """
    check_may_write(call.principal)

    async def work(connection: TenantConnection) -> None:
        scope = await snapshots_db.reopen_extraction(connection, snapshot_id, kind)
        if scope is None:
            message = (
                f"no extraction of {kind} from the snapshot {snapshot_id!r} was given up: list the failures"
            )
            raise DomainError(Reason.FAILURE_NOT_FOUND, message, "snapshot_id")
        await defer_extraction(connection, scope, snapshot_id, kind)

    await write_store(services.database, call, store_id, work)
