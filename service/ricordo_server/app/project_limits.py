"""The operator's word on what a project may use."""

from dataclasses import replace
from uuid import UUID

from ricordo_server.app.permissions import check_operator
from ricordo_server.app.transactions import in_project, write_project
from ricordo_server.db import audit as audit_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import Pool, ProjectConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.project_limits import LimitChanges, ProjectLimits, ProjectUsage


async def get_limits(pool: Pool, call: Call, project_id: UUID) -> tuple[ProjectLimits, ProjectUsage]:
    """What the project may use and has used; `pool` is the operator's.

    Raises:
        DomainError: PERMISSION_DENIED, PROJECT_NOT_FOUND.
    """
    check_operator(call.principal)
    async with in_project(pool, call) as connection:
        limits = _present(await usage_db.read_limits(connection, project_id), project_id)
        usage, _ = await usage_db.read_usage(connection, project_id)
        return limits, usage


async def update_limits(pool: Pool, call: Call, project_id: UUID, changes: LimitChanges) -> ProjectLimits:
    """Changes the limits given; `pool` is the operator's.

    Raises:
        DomainError: PERMISSION_DENIED, PROJECT_NOT_FOUND.
    """
    check_operator(call.principal)

    async def work(connection: ProjectConnection) -> ProjectLimits:
        current = _present(await usage_db.read_limits(connection, project_id, lock=True), project_id)
        limits = replace(current, **changes)
        await usage_db.write_limits(connection, project_id, limits)
        subject = f"{project_id}: {', '.join(sorted(changes))}"
        await audit_db.write_record(connection, call.principal, "UpdateProjectLimits", subject)
        return limits

    return await write_project(pool, call, work)


def _present(limits: ProjectLimits | None, project_id: UUID) -> ProjectLimits:
    if limits is None:
        message = f"there is no project {project_id}: list the projects"
        raise DomainError(Reason.PROJECT_NOT_FOUND, message, "project_id")
    return limits
