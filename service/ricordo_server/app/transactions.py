"""How the nouns open transactions, and how a write is done once for each request id."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from ricordo_server.app.permissions import check_may_write_here
from ricordo_server.db import idempotency
from ricordo_server.db import stores as stores_db
from ricordo_server.db.connection import (
    Database,
    Pool,
    ProjectConnection,
    TenantConnection,
    project_transaction,
    tenant_transaction,
)
from ricordo_server.domain.call import AlreadyAnswered, Call, Once
from ricordo_server.domain.errors import DomainError, Reason

Result = TypeVar("Result")
Opened = TypeVar("Opened", bound=ProjectConnection)

# Deadlocks between multi-row writers are rare, since keys are sorted; more attempts would only add load.
WRITE_ATTEMPTS = 3


def in_store(database: Database, call: Call, store_id: str) -> AbstractAsyncContextManager[TenantConnection]:
    return tenant_transaction(database, call.principal, store_id, timeout=call.remaining)


def in_project(pool: Pool, call: Call) -> AbstractAsyncContextManager[ProjectConnection]:
    return project_transaction(pool, call.principal, timeout=call.remaining)


async def write_store(
    database: Database, call: Call, store_id: str, work: Callable[[TenantConnection], Awaitable[Result]]
) -> Result:
    """Runs `work` in one transaction of the store, once for each request id.

    The language it may write rows in is in use first, so that no row is ever in one that searches leave out.

    Raises:
        AlreadyAnswered: the request id has its answer; nothing was written again.
        DomainError: REQUEST_ID_REUSED, PERMISSION_DENIED (the store is granted for reading), or what the work
            raised; nothing was written.
    """

    async def work_in_language(connection: TenantConnection) -> Result:
        check_may_write_here(connection)
        if connection.language not in connection.languages_in_use:
            await stores_db.use_language(connection)
        return await work(connection)

    return await _write(lambda: in_store(database, call, store_id), call, work_in_language)


async def write_project(
    pool: Pool, call: Call, work: Callable[[ProjectConnection], Awaitable[Result]]
) -> Result:
    """The same outside any store."""
    return await _write(lambda: in_project(pool, call), call, work)


async def _write(
    opened: Callable[[], AbstractAsyncContextManager[Opened]],
    call: Call,
    work: Callable[[Opened], Awaitable[Result]],
) -> Result:
    for attempt in range(1, WRITE_ATTEMPTS + 1):
        try:
            async with opened() as connection:
                return await _answer_once(connection, call, work)
        except DomainError as error:
            if error.reason is not Reason.WRITE_CONFLICT or attempt == WRITE_ATTEMPTS:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _answer_once(connection: Opened, call: Call, work: Callable[[Opened], Awaitable[Result]]) -> Result:
    if call.once is None:
        return await work(connection)
    await _claim(connection, call)
    result = await work(connection)
    kept = await call.once.encode(result)
    await idempotency.keep_answer(connection, call.principal, call.once, kept)
    return result


async def check_unanswered(connection: ProjectConnection, call: Call) -> None:
    """For a write of several transactions, in its first: the last one claims the request id and keeps the answer.

    Raises:
        AlreadyAnswered, DomainError: as `write_project`.
    """
    if call.once is not None:
        _refuse_known(call.once, await idempotency.find_answer(connection, call.principal, call.once))


async def _claim(connection: ProjectConnection, call: Call) -> None:
    assert call.once is not None  # noqa: S101 - the caller asked
    _refuse_known(call.once, await idempotency.claim_request(connection, call.principal, call.once))


def _refuse_known(once: Once, known: tuple[bytes, bytes] | None) -> None:
    if known is None:
        return
    digest, answer = known
    if digest != once.payload_digest:
        message = "this request_id was used with another payload in the last 24 hours: make a new one"
        raise DomainError(Reason.REQUEST_ID_REUSED, message, "request_id")
    raise AlreadyAnswered(answer)
