"""Statements on the job queue: deferring inside a tenant's transaction, and the operator's view of all of it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.connection import ProjectConnection, Row
from ricordo_server.db.sql import load_sql
from ricordo_server.db.tables import job_failure
from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.queue import ProjectQueue, QueueCounts, QueueStatus

# Jobs without a project: the installation's own.
HOUSEKEEPING = "housekeeping"
# A job that takes its worker with it is tried again so often.
MOST_LOST_WORKERS = 3

DEFER = """
SELECT ricordo.defer_job(
  %(task)s, %(arguments)s, %(lock)s, %(start_time)s, %(priority)s, %(unless_waiting)s) AS deferred
"""
WORKERS = """
SELECT count(*) AS workers FROM procrastinate.procrastinate_workers
WHERE last_heartbeat > now() - interval '1 minute'
"""
DELETE_FAILED = """
DELETE FROM procrastinate.procrastinate_jobs AS job
WHERE job.status IN ('failed', 'cancelled', 'aborted') AND NOT EXISTS (
  SELECT FROM procrastinate.procrastinate_events AS event
  WHERE event.job_id = job.id AND event.at > now() - %(age)s::interval)
"""


async def defer_job(
    connection: ProjectConnection,
    task: str,
    arguments: Mapping[str, Any],
    *,
    lock: str | None = None,
    start_time: datetime | None = None,
    priority: int = 0,
    unless_waiting: bool = False,
) -> bool:
    """Puts a job into the queue of the connection's project; it is there when the transaction commits, else not.

    The more jobs of a project are due, the lower the priority of its next: projects take turns.

    Args:
        task: The name of a kind in `jobs.registry`.
        arguments: Ids only, never content; at most 4 KiB of JSON.
        lock: Of jobs with one lock, the project's own, one runs at a time, in the order of priority and age. One that
            waits for its time or its next attempt holds up those behind it.
        start_time: Not before it.
        priority: Added to what fairness gives; higher runs earlier.
        unless_waiting: Defers nothing while a job of this task and lock waits. Exact under a row lock that every
            caller holds; otherwise two at once may both defer.

    Returns:
        Whether it was deferred.
    """
    parameters = {
        "task": task,
        "arguments": Jsonb(dict(arguments)),
        "lock": lock,
        "start_time": start_time,
        "priority": priority,
        "unless_waiting": unless_waiting,
    }
    row = await connection.fetch_one(DEFER, parameters)
    return row is not None and row["deferred"]


async def reclaim_jobs(connection: ProjectConnection, *, lease: float, longest: float) -> list[Row]:
    """Gives back the jobs of workers silent for `lease` seconds, and those under way for more than `longest`.

    Each row has the job's `id`, `queue_name`, `task_name` and `args`, how many `times` this happened to it, and
    whether it is `given_up`.
    """
    parameters = {"lease": lease, "longest": longest, "most": MOST_LOST_WORKERS}
    return await connection.fetch_all(load_sql("reclaim_jobs"), parameters)


async def record_failure(
    connection: ProjectConnection, job_id: int, failure_class: FailureClass, error: str
) -> None:
    """Keeps why the job's last attempt failed; `error` is no message, which may quote content."""
    columns = {"failure_class": failure_class, "error": error, "failure_time": func.now()}
    statement = upsert(job_failure).values(job_id=job_id, **columns)
    await connection.execute(statement.on_conflict_do_update(index_elements=["job_id"], set_=columns))


async def delete_failed_jobs(connection: ProjectConnection, *, age: timedelta) -> int:
    return (await connection.execute(DELETE_FAILED, {"age": age})).rowcount


async def analyze_parent(connection: ProjectConnection, table: str) -> None:
    """Takes statistics of a partitioned table, which autovacuum never does."""
    await connection.execute(select(func.ricordo.analyze_parent(table)))


async def get_queue_status(
    connection: ProjectConnection, project_id: UUID | None, *, most_projects: int
) -> QueueStatus:
    """Of one project, or of all; as operator."""
    queue = str(project_id) if project_id else None
    rows = await connection.fetch_all(load_sql("queue_status"), {"queue": queue, "rows": most_projects + 1})
    workers = await connection.fetch_one(WORKERS)
    return QueueStatus(
        workers["workers"] if workers else 0, _counts(rows[0]), [_project_queue(row) for row in rows[1:]]
    )


def _project_queue(row: Row) -> ProjectQueue:
    name = row["queue_name"]
    return ProjectQueue(None if name == HOUSEKEEPING else UUID(name), _counts(row))


def _counts(row: Row) -> QueueCounts:
    failure_class = row["last_failure_class"]
    return QueueCounts(
        row["waiting"],
        row["scheduled"],
        row["running"],
        row["failed"],
        row["oldest_due_time"],
        FailureClass(failure_class) if failure_class else None,
    )
