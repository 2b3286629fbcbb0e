"""Completion: each live row gets the vectors of the models that its project uses, and loses those of others.

One mechanism for rows that were stored while a model was away, for a model that is new in the project, and for one
that was dropped. It begins anywhere and ends anywhere: what is incomplete is asked of the rows themselves.
"""

import logging
import time
from dataclasses import replace
from uuid import UUID

from ricordo_server.app.housekeeping import each_store, operator_pool
from ricordo_server.app.row_completion import MEMORIES, TURNS, Completion, Run, complete_rows, remove_unused
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, in_store
from ricordo_server.db import completion as completion_db
from ricordo_server.db.connection import ProjectConnection, TenantConnection
from ricordo_server.db.declarations import list_store_names
from ricordo_server.db.jobs import defer_job
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.principal import worker_of

log = logging.getLogger(__name__)

# The name of its job, and of the lock that lets one run at a time in a project.
TASK = "complete_vectors"


async def request_completion(connection: ProjectConnection) -> None:
    """A worker completes the project once the transaction has committed."""
    await defer_job(connection, TASK, {}, lock=TASK, unless_waiting=True)


async def request_where_incomplete(services: Services, call: Call) -> None:
    """Looks into every store; `call` is the housekeeper's. A model that was away may be there again."""
    requested: UUID | None = None
    async for project_id, store_id in each_store(operator_pool(services), call):
        if project_id == requested:
            continue
        inside = replace(call, principal=worker_of(project_id))
        try:
            async with in_store(services.database, inside, store_id) as connection:
                if await _is_incomplete(connection):
                    await request_completion(connection)
                    requested = project_id
        except DomainError as error:
            if error.reason is not Reason.STORE_NOT_FOUND:  # it was deleted meanwhile
                raise


async def _is_incomplete(connection: TenantConnection) -> bool:
    for embedded in (completion_db.MEMORIES, completion_db.TURNS):
        for model in connection.models.in_use:
            if await completion_db.find_incomplete(connection, embedded, model, "", 1):
                return True
        if await completion_db.find_unused(connection, embedded, "", 1):
            return True
    return False


async def complete_and_go_on(services: Services, call: Call, *, seconds: float) -> None:
    """Completes the project of the call for about that time, and asks for another run when that was not enough."""
    assert call.principal.project_id is not None  # noqa: S101 - jobs of this kind have a project
    done = await complete_project(services, call.principal.project_id, seconds=seconds)
    if not done.is_whole:
        async with in_project(services.database.pool, call) as connection:
            await request_completion(connection)


async def complete_project(services: Services, project_id: UUID, *, seconds: float) -> Completion:
    """Completes the stores of a project one after the other, for about that time; each batch commits.

    Raises:
        DomainError: the database cannot be reached, or a store is deleted meanwhile.
    """
    run = Run(services, project_id, time.monotonic() + seconds)
    async with in_project(services.database.pool, run.call) as connection:
        names = await list_store_names(connection)
    done = Completion()
    for name in names:
        done += await _complete_store(run, name)
    if done != Completion():
        log.info("vectors completed", extra={"project_id": str(project_id), **vars(done)})
    return done


async def _complete_store(run: Run, store_id: str) -> Completion:
    async with in_store(run.services.database, run.call, store_id) as connection:
        models = connection.models
    done = Completion()
    for model in models.in_use:
        done += await complete_rows(run, store_id, MEMORIES, model)
        done += await complete_rows(run, store_id, TURNS, model)
    for noun in (MEMORIES, TURNS):
        done += await remove_unused(run, store_id, noun.embedded)
    return done
