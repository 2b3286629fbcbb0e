"""Operations: asked for in one transaction, carried out by a job, asked about, waited for and ended by anybody.

Its end is one row changed while it is open, in the transaction that writes what it made. So an operation is done or
cancelled, never both, and whoever cancels one leaves nothing half-written.
"""

import asyncio
import time
from dataclasses import replace

from uuid_utils.compat import uuid7

from ricordo_server.app.permissions import check_may_read_as, check_may_write
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import memories as memories_db
from ricordo_server.db import operations as operations_db
from ricordo_server.db import revisions as revisions_db
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.jobs import defer_job
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.generation import GeneratedMemory, Generation
from ricordo_server.domain.operation import Made, Operation, OperationDraft, made_of
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.scope import ScopeFilter

RUN_OPERATION = "run_operation"
# One call waits so long at most, in seconds: it holds one of the server's places. The margin is for the answer.
LONGEST_WAIT, WAIT_MARGIN = 30.0, 0.5
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0


class OperationEnded(Exception):  # noqa: N818 - no error: somebody else was faster
    """The operation is over or gone meanwhile; nothing is written for it any more."""


async def start_operation(connection: TenantConnection, draft: OperationDraft) -> Operation:
    """The operation and its job, in the transaction of whoever asks for it."""
    started = await operations_db.insert_operation(connection, str(uuid7()), draft)
    arguments = {"store_id": connection.store_name, "operation_id": started.operation_id}
    await defer_job(connection, RUN_OPERATION, arguments)
    return started


async def get_open_request(services: Services, call: Call, store_id: str, operation_id: str) -> bytes:
    """What the operation was asked for with.

    Raises:
        OperationEnded: there is nothing to do any more.
    """
    async with in_store(services.database, call, store_id) as connection:
        request = await operations_db.get_open_request(connection, operation_id)
    if request is None:
        raise OperationEnded
    return request


async def finish_operation(connection: TenantConnection, operation_id: str, generation: Generation) -> None:
    """In the transaction that writes what it made.

    Raises:
        OperationEnded: it was cancelled meanwhile, or another job was faster: the transaction is to be rolled back.
    """
    if not await operations_db.finish_operation(connection, operation_id, made_of(generation)):
        raise OperationEnded


async def note_failure(
    services: Services,
    call: Call,
    store_id: str,
    operation_id: str,
    failure_class: FailureClass,
    error: DomainError | None,
) -> None:
    """Keeps that an attempt failed; with an error there will be no other."""
    async with in_store(services.database, call, store_id) as connection:
        await operations_db.note_attempt(connection, operation_id, failure_class)
        if error is not None:
            await operations_db.fail_operation(connection, operation_id, error)


async def get_operation(services: Services, call: Call, store_id: str, operation_id: str) -> Operation:
    """Reads it with what it made, as far as that is still there.

    Raises:
        DomainError: OPERATION_NOT_FOUND.
    """
    async with in_store(services.database, call, store_id) as connection:
        return await read_operation(connection, operation_id)


async def read_operation(connection: TenantConnection, operation_id: str) -> Operation:
    """`get_operation` inside a transaction."""
    found = await operations_db.get_operation(connection, operation_id)
    if found is None:
        message = f"there is no operation {operation_id!r} to be seen here: they are kept for 7 days"
        raise DomainError(Reason.OPERATION_NOT_FOUND, message, "operation_id")
    if found.made is None or found.error is not None or not found.done:
        return found
    return replace(found, generation=await _recall(connection, found.made))


async def _recall(connection: TenantConnection, made: Made) -> Generation:
    """As the answer of a call that waited: what has changed since is shown as it was made."""
    names = sorted({each.memory_id for each in made.revisions})
    if not names:
        return Generation((), made.dropped)
    current = await memories_db.get_memories(connection, names, include_deleted=True)
    kept = await revisions_db.get_revisions(
        connection, [(each.memory_id, each.revision) for each in made.revisions]
    )
    memories = []
    for each in made.revisions:
        now = current.get(each.memory_id)
        is_current = now is not None and now.revision == each.revision
        memory = now if is_current else kept.get((each.memory_id, each.revision))
        if memory is not None:
            memories.append(GeneratedMemory(memory, each.action, each.previous_revision))
    return Generation(memories, made.dropped)


async def wait_operation(services: Services, call: Call, store_id: str, operation_id: str) -> Operation:
    """The operation when it is over, or as it is when the call has no time left; no transaction is open meanwhile.

    Raises:
        DomainError: OPERATION_NOT_FOUND.
    """
    last = min(call.deadline - WAIT_MARGIN, time.monotonic() + LONGEST_WAIT)
    pause = FIRST_PAUSE
    while True:
        found = await get_operation(services, call, store_id, operation_id)
        if found.done or time.monotonic() + pause > last:
            return found
        await asyncio.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


async def list_operations(
    services: Services, call: Call, store_id: str, scope: ScopeFilter, page: PageRequest
) -> Page[Operation]:
    """Newest first; of what they made only the counts."""
    check_may_read_as(call.principal, scope)
    async with in_store(services.database, call, store_id) as connection:
        found = await operations_db.list_operations(connection, scope, page)
    return replace(found, items=[_counted(each) for each in found.items])


def _counted(operation: Operation) -> Operation:
    if operation.made is None or operation.error is not None or not operation.done:
        return operation
    return replace(operation, generation=Generation((), operation.made.dropped))


async def cancel_operation(services: Services, call: Call, store_id: str, operation_id: str) -> Operation:
    """Ends it, if it is not over; its job finds that, at the latest when it would write.

    Raises:
        DomainError: OPERATION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write(call.principal)
    cancelled = DomainError(Reason.OPERATION_CANCELLED, "the operation was cancelled, and has no result")

    async def work(connection: TenantConnection) -> Operation:
        if await operations_db.fail_operation(connection, operation_id, cancelled):
            await snapshots_db.give_up_operation(connection, operation_id)
        return await read_operation(connection, operation_id)

    return await write_store(services.database, call, store_id, work)
