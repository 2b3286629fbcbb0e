"""Pipelines: their rules and transactions. What a run does is in `pipeline_runs`."""

from dataclasses import replace

from uuid_utils.compat import uuid7

from ricordo_server.app.endpoints import check_endpoint
from ricordo_server.app.housekeeping import each_store, operator_pool
from ricordo_server.app.permissions import check_may_manage, check_may_write_here, denied
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import pipelines as pipelines_db
from ricordo_server.db.connection import TenantConnection, enter_store
from ricordo_server.db.jobs import defer_job
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.pipeline import (
    Pipeline,
    PipelineChanges,
    PipelineDraft,
    PipelineRun,
    PipelineTrigger,
)
from ricordo_server.domain.principal import Principal, PrincipalKind, Role, worker_of

RUN_PIPELINE = "run_pipeline"
# Of one store at a time: what is due beyond comes at the next look.
MOST_DUE = 500


def check_may_see_pipelines(principal: Principal) -> None:
    if not principal.may_name_any_user:
        raise denied("an end user's credential may not use pipelines", required=PrincipalKind.SERVICE)


async def create_pipeline(services: Services, call: Call, store_id: str, draft: PipelineDraft) -> Pipeline:
    """Makes a pipeline in the caller's name.

    Raises:
        DomainError: STORE_NOT_FOUND (either), PERMISSION_DENIED, PIPELINE_TAKEN, INVALID_FIELD (no such endpoint).
    """
    check_may_manage(call.principal)
    check_endpoint(services, {"endpoint": draft.policy.endpoint}, "pipeline.policy")

    async def work(connection: TenantConnection) -> Pipeline:
        await _check_target(connection, draft.target_store_id)
        pipeline_id, role = str(uuid7()), _role_of(call.principal)
        if not await pipelines_db.insert_pipeline(connection, pipeline_id, draft, role):
            message = "these two stores have a pipeline: list them, and change that one"
            raise DomainError(Reason.PIPELINE_TAKEN, message, "pipeline.target_store_id")
        return await _get(connection, pipeline_id)

    return await write_store(services.database, call, store_id, work)


async def _check_target(connection: TenantConnection, target_store_id: str) -> None:
    """The transaction visits the target, and comes back into the store it was in."""
    check_may_write_here(await enter_store(connection, target_store_id))
    await enter_store(connection, connection.store_name)


def _role_of(principal: Principal) -> Role:
    return Role.ADMIN if principal.may_administer else Role.WRITER


async def _get(connection: TenantConnection, pipeline_id: str) -> Pipeline:
    found = await pipelines_db.get_pipeline(connection, pipeline_id)
    if found is None:
        message = f"the store {connection.store_name!r} has no pipeline {pipeline_id!r} to be seen here"
        raise DomainError(Reason.PIPELINE_NOT_FOUND, message, "pipeline_id")
    return found


async def get_pipeline(services: Services, call: Call, store_id: str, pipeline_id: str) -> Pipeline:
    """Raises DomainError: PIPELINE_NOT_FOUND, PERMISSION_DENIED."""
    check_may_see_pipelines(call.principal)
    async with in_store(services.database, call, store_id) as connection:
        return await _get(connection, pipeline_id)


async def list_pipelines(services: Services, call: Call, store_id: str, page: PageRequest) -> Page[Pipeline]:
    check_may_see_pipelines(call.principal)
    async with in_store(services.database, call, store_id) as connection:
        return await pipelines_db.list_pipelines(connection, page)


async def update_pipeline(
    services: Services, call: Call, store_id: str, pipeline_id: str, changes: PipelineChanges
) -> Pipeline:
    """Raises DomainError: PIPELINE_NOT_FOUND, PERMISSION_DENIED, INVALID_FIELD (no such endpoint)."""
    check_may_manage(call.principal)
    check_endpoint(services, changes, "pipeline.policy")

    async def work(connection: TenantConnection) -> Pipeline:
        await _get(connection, pipeline_id)
        await pipelines_db.update_pipeline(connection, pipeline_id, changes)
        return await _get(connection, pipeline_id)

    return await write_store(services.database, call, store_id, work)


async def delete_pipeline(services: Services, call: Call, store_id: str, pipeline_id: str) -> None:
    """Removes a pipeline with its runs, and what says how far it was.

    Raises:
        DomainError: PIPELINE_NOT_FOUND, PERMISSION_DENIED, STORE_NOT_FOUND (the target, of a caller without access).
    """
    check_may_manage(call.principal)

    async def work(connection: TenantConnection) -> None:
        pipeline = await _get(connection, pipeline_id)
        await pipelines_db.delete_pipeline(connection, pipeline_id)
        target = await enter_store(connection, pipeline.target_store_id)
        check_may_write_here(target)
        await pipelines_db.delete_checkpoints(target, pipeline_id)

    await write_store(services.database, call, store_id, work)


async def start_run(services: Services, call: Call, store_id: str, pipeline_id: str) -> PipelineRun:
    """Puts a run into the queue.

    Raises:
        DomainError: PIPELINE_NOT_FOUND, PIPELINE_RUNNING, PERMISSION_DENIED.
    """
    check_may_manage(call.principal)

    async def work(connection: TenantConnection) -> PipelineRun:
        await _get(connection, pipeline_id)
        run = await _defer(connection, pipeline_id, PipelineTrigger.MANUAL)
        if run is None:
            run_id = await pipelines_db.find_active(connection, pipeline_id) or ""
            message = f"the run {run_id} waits or is under way: wait until it has ended"
            raise DomainError(Reason.PIPELINE_RUNNING, message, "pipeline_id", {"run_id": run_id})
        return run

    return await write_store(services.database, call, store_id, work)


async def _defer(
    connection: TenantConnection, pipeline_id: str, cause: PipelineTrigger
) -> PipelineRun | None:
    run = await pipelines_db.insert_run(connection, str(uuid7()), pipeline_id, cause)
    if run is not None:
        arguments = {"store_id": connection.store_name, "run_id": run.run_id}
        await defer_job(connection, RUN_PIPELINE, arguments)
    return run


async def start_due(services: Services, call: Call) -> None:
    """Looks into every store for pipelines whose time has come; `call` is the housekeeper's."""
    async for project_id, store_id in each_store(operator_pool(services), call):
        inside = replace(call, principal=worker_of(project_id))
        try:
            async with in_store(services.database, inside, store_id) as connection:
                for pipeline_id in await pipelines_db.list_due(connection, most=MOST_DUE):
                    await _defer(connection, pipeline_id, PipelineTrigger.SCHEDULED)
        except DomainError as error:
            if error.reason is not Reason.STORE_NOT_FOUND:  # it was deleted meanwhile
                raise


async def list_runs(
    services: Services, call: Call, store_id: str, pipeline_id: str, page: PageRequest
) -> Page[PipelineRun]:
    """Newest first.

    Raises:
        DomainError: PIPELINE_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_see_pipelines(call.principal)
    async with in_store(services.database, call, store_id) as connection:
        await _get(connection, pipeline_id)
        return await pipelines_db.list_runs(connection, pipeline_id, page)


async def get_run(services: Services, call: Call, store_id: str, run_id: str) -> PipelineRun:
    """Raises DomainError: PIPELINE_RUN_NOT_FOUND, PERMISSION_DENIED."""
    check_may_see_pipelines(call.principal)
    async with in_store(services.database, call, store_id) as connection:
        run = await pipelines_db.get_run(connection, run_id)
    if run is None:
        message = f"the store has no run {run_id!r} to be seen here"
        raise DomainError(Reason.PIPELINE_RUN_NOT_FOUND, message, "run_id")
    return run
