"""The job queue as an operator sees it."""

from uuid import UUID

from ricordo_server.app.permissions import check_operator
from ricordo_server.app.transactions import in_project
from ricordo_server.db import jobs as jobs_db
from ricordo_server.db.connection import Pool
from ricordo_server.domain.call import Call
from ricordo_server.domain.limits import MAX_QUEUE_PROJECTS
from ricordo_server.domain.queue import QueueStatus


async def get_queue_status(pool: Pool, call: Call, project_id: UUID | None) -> QueueStatus:
    """Of one project, or of the installation; `pool` is the operator's.

    Raises:
        DomainError: PERMISSION_DENIED.
    """
    check_operator(call.principal)
    async with in_project(pool, call) as connection:
        return await jobs_db.get_queue_status(connection, project_id, most_projects=MAX_QUEUE_PROJECTS)
