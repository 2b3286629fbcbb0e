"""What has had its time: removed in small batches, store by store, by whoever works in the background."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import UUID

from ricordo_server.app.promotion import promote_overdue
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, in_store
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import idempotency as idempotency_db
from ricordo_server.db import jobs as jobs_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db import operations as operations_db
from ricordo_server.db import revisions as revisions_db
from ricordo_server.db import stores as stores_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import Pool
from ricordo_server.db.tables import PARTITIONED
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.memory import RevisionAction
from ricordo_server.domain.principal import HOUSEKEEPER, worker_of

KEPT_AFTER_DELETION = timedelta(days=30)
KEPT_OPERATIONS, LONGEST_OPERATION = timedelta(days=7), timedelta(days=30)
KEPT_FAILED_JOBS = timedelta(days=30)
# Rows a transaction, so that nobody waits long for a lock; and transactions a store, so that none holds up the rest.
BATCH_ROWS, BATCHES = 500, 200
STORES_A_PAGE = 1_000

log = logging.getLogger("ricordo.housekeeping")


async def sweep(services: Services, call: Call) -> None:
    """Deletes expired memories; removes deleted ones in time, old revisions, request ids, operations, failed jobs.

    Sessions whose turns nobody promoted in time are promoted.
    """
    pool = operator_pool(services)
    swept: UUID | None = None
    async for project_id, store_id in each_store(pool, call):
        inside = replace(call, principal=worker_of(project_id))
        if project_id != swept:
            await _repeat(partial(_forget_answers, services.database.pool, inside))
            swept = project_id
        await _sweep_store(services, inside, store_id)
    await _repeat(partial(_forget_answers, pool, call))
    async with in_project(pool, call) as connection:
        await jobs_db.delete_failed_jobs(connection, age=KEPT_FAILED_JOBS)


def operator_pool(services: Services) -> Pool:
    """A worker never runs without."""
    assert services.operator_pool is not None  # noqa: S101 - the composition root refuses
    return services.operator_pool


async def each_store(pool: Pool, call: Call) -> AsyncIterator[tuple[UUID, str]]:
    """Every store of every project, as (project, name); to be entered one by one, as any request is."""
    operator = replace(call, principal=HOUSEKEEPER)
    last: tuple[UUID, str] | None = None
    while True:
        async with in_project(pool, operator) as connection:
            page = await stores_db.list_all_stores(connection, last, most=STORES_A_PAGE)
        for each in page:
            yield each
        if len(page) < STORES_A_PAGE:
            return
        last = page[-1]


async def _sweep_store(services: Services, call: Call, store_id: str) -> None:
    try:
        await _repeat(partial(_delete_expired, services, call, store_id))
        await _repeat(partial(_remove_deleted, services, call, store_id))
        await _repeat(partial(_remove_revisions, services, call, store_id))
        await _repeat(partial(_remove_operations, services, call, store_id))
        await promote_overdue(services, call, store_id, most=BATCH_ROWS)
    except DomainError as error:
        if error.reason is not Reason.STORE_NOT_FOUND:  # it was deleted meanwhile
            raise


async def _repeat(batch: Callable[[], Awaitable[int]]) -> None:
    for _ in range(BATCHES):
        if await batch() < BATCH_ROWS:
            return


async def _delete_expired(services: Services, call: Call, store_id: str) -> int:
    """As a deletion by a caller does: with a revision, and to be restored as long as the row is there."""
    async with in_store(services.database, call, store_id) as connection:
        ids = await memories_db.delete_expired(connection, most=BATCH_ROWS)
        await keep_revisions(connection, ids, RevisionAction.DELETED)
    return len(ids)


async def _remove_deleted(services: Services, call: Call, store_id: str) -> int:
    async with in_store(services.database, call, store_id) as connection:
        removed = await memories_db.remove_deleted(connection, age=KEPT_AFTER_DELETION, most=BATCH_ROWS)
        if 0 < removed < BATCH_ROWS:  # the last of them
            await usage_db.recount_store(connection)
        return removed


async def _remove_revisions(services: Services, call: Call, store_id: str) -> int:
    async with in_store(services.database, call, store_id) as connection:
        removed = await revisions_db.remove_expired(connection, most=BATCH_ROWS)
        if 0 < removed < BATCH_ROWS:  # the last of them
            await usage_db.recount_store(connection)
        return removed


async def _remove_operations(services: Services, call: Call, store_id: str) -> int:
    async with in_store(services.database, call, store_id) as connection:
        return await operations_db.delete_old_operations(
            connection, after_end=KEPT_OPERATIONS, after_start=LONGEST_OPERATION, most=BATCH_ROWS
        )


async def _forget_answers(pool: Pool, call: Call) -> int:
    async with in_project(pool, call) as connection:
        return await idempotency_db.delete_expired_answers(connection, most=BATCH_ROWS)


async def analyze_parents(services: Services, call: Call) -> None:
    """Statistics of the partitioned tables, each in a transaction of its own."""
    for table in PARTITIONED:
        async with in_project(operator_pool(services), call) as connection:
            await jobs_db.analyze_parent(connection, table)
