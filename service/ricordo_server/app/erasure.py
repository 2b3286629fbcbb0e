"""Erasure: of a project by the operator, of an end user by an administrator."""

from uuid import UUID

from ricordo_server.app.permissions import check_may_administer, check_operator
from ricordo_server.app.projects import present_project
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import check_unanswered, in_project, write_project
from ricordo_server.db import audit as audit_db
from ricordo_server.db import erasure as erasure_db
from ricordo_server.db import projects as projects_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import Pool, ProjectConnection, enter_store
from ricordo_server.db.declarations import list_store_names
from ricordo_server.domain.call import Call
from ricordo_server.domain.erasure import ErasureReceipt
from ricordo_server.domain.errors import DomainError, Reason

# About a second of work with the vectors of as many memories.
BATCH_ROWS = 5_000
# Of a call's time, what goes into batches: the last transaction must still fit.
SHARE_OF_DEADLINE = 0.8


async def purge_memories(services: Services, call: Call, user_id: str, *, force: bool) -> ErasureReceipt:
    """Removes everything of an end user from every store; without `force` it only counts.

    Raises:
        DomainError: PERMISSION_DENIED, PROJECT_NOT_FOUND.
    """
    check_may_administer(call.principal)

    async def work(connection: ProjectConnection) -> ErasureReceipt:
        present_project(await projects_db.get_project(connection))
        receipt = await erasure_db.erase_user(connection, user_id, force=force)
        if force:
            await audit_db.write_record(connection, call.principal, "PurgeMemories")  # whose is not kept
            await _recount(connection)
        return receipt

    return await write_project(services.database.pool, call, work)


async def _recount(connection: ProjectConnection) -> None:
    for name in await list_store_names(connection):
        await usage_db.recount_store(await enter_store(connection, name))


async def delete_project(pool: Pool, call: Call, project_id: UUID, *, force: bool) -> ErasureReceipt:
    """Removes a project with everything in it; without `force` it only counts. `pool` is the operator's.

    The project is closed, then emptied batch by batch, each committed, then removed with what came in meanwhile. What
    a call does not come to, the next goes on with.

    Raises:
        DomainError: PROJECT_NOT_FOUND, PERMISSION_DENIED, DEADLINE_EXCEEDED.
    """
    check_operator(call.principal)
    if force:
        await _close_project(pool, call, project_id)
        await _empty_project(pool, call, project_id)

    async def work(connection: ProjectConnection) -> ErasureReceipt:
        receipt = await erasure_db.erase_project(connection, project_id, force=force)
        if not receipt.row_counts:
            message = f"there is no project {project_id}: list the projects"
            raise DomainError(Reason.PROJECT_NOT_FOUND, message, "project_id")
        return receipt

    return await write_project(pool, call, work)


async def _close_project(pool: Pool, call: Call, project_id: UUID) -> None:
    async with in_project(pool, call) as connection:
        await check_unanswered(connection, call)
        if await erasure_db.close_project(connection, project_id):
            await audit_db.write_record(connection, call.principal, "DeleteProject", str(project_id))


async def _empty_project(pool: Pool, call: Call, project_id: UUID) -> None:
    kept_back, total = call.remaining * (1 - SHARE_OF_DEADLINE), 0
    while not total or call.remaining > kept_back:
        async with in_project(pool, call) as connection:
            removed = await erasure_db.erase_rows(connection, project_id, most=BATCH_ROWS)
        if removed < BATCH_ROWS:
            return
        total += removed
    message = f"{total} rows were removed, and there are more: call again, it goes on, or allow more time"
    metadata = {"removed_row_count": str(total)}
    raise DomainError(Reason.DEADLINE_EXCEEDED, message, metadata=metadata)
