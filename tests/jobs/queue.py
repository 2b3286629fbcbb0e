"""The queue of one test's project: what waits in it, and a worker for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from ricordo_server.config import Settings
from ricordo_server.jobs.kind import JobKind
from ricordo_server.server import open_services
from ricordo_server.worker import working
from tests.fixtures.database import TestDatabase

JOBS = """
SELECT job.*, failure.failure_class, failure.error, failure.lost_workers FROM procrastinate.procrastinate_jobs AS job
LEFT JOIN ricordo.job_failure AS failure ON failure.job_id = job.id WHERE queue_name = %s ORDER BY job.id
"""
# Only a failing test waits this long.
PATIENCE_SECONDS = 120


def read_jobs(database: TestDatabase, project_id: UUID) -> list[dict[str, Any]]:
    """The jobs of a project that are not done; done ones leave the queue."""
    with psycopg.connect(database.operator_url, row_factory=dict_row) as connection:
        return connection.execute(JOBS, [str(project_id)]).fetchall()


def states(database: TestDatabase, project_id: UUID) -> list[str]:
    return [str(job["status"]) for job in read_jobs(database, project_id)]


async def until(condition: Callable[[], bool]) -> None:
    """Waits; fails the test when it never comes true."""
    for _ in range(PATIENCE_SECONDS * 50):
        if await asyncio.to_thread(condition):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came true")


@asynccontextmanager
async def worker(settings: Settings, *kinds: JobKind) -> AsyncIterator[None]:
    async with open_services(settings, pool_size=4) as services, working(settings, services, kinds=kinds):
        yield
