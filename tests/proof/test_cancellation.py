"""A call that runs out of time leaves no work in the database and no connection lost."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import psycopg
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import (
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    project_pb2,
    project_service_pb2,
    project_service_pb2_grpc,
)
from ricordo_server.config import Settings
from ricordo_server.db.connection import Pool
from ricordo_server.server import open_services, serving
from tests.fixtures.database import TestDatabase
from tests.proof.conftest import Tally
from tests.proof.scale import scaled

pytestmark = pytest.mark.xdist_group("cancellation")

CALLS, AT_ONCE = scaled(10_000), 8
# It takes a hundredth of a second, and PROMISE is what is promised of it; a machine that is busy with other things
# takes its time, so that the note tells who kept the promise and GRACE decides.
DEADLINE, PROMISE, GRACE = 0.05, 0.2, 1.0
ACTIVE = (
    "SELECT count(*) FROM pg_stat_activity WHERE usename = 'ricordo_app' AND datname = current_database()"
    " AND state = 'active'"
)


@pytest.fixture
def locked(database: TestDatabase, project_id: UUID) -> Iterator[psycopg.Connection[tuple[int]]]:
    """Holds the project, so that whoever changes it or writes metadata waits in the database."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("SELECT 1 FROM ricordo.project WHERE project_id = %s FOR UPDATE", [project_id])
        yield connection


def requests(channel: grpc.aio.Channel, number: int) -> grpc.aio.UnaryUnaryCall[Any, Any]:
    if number % 2:
        put = memory_service_pb2.PutMemoryRequest(
            memory=memory_pb2.Memory(kind=memory_pb2.MEMORY_KIND_SEMANTIC, key=f"k{number}", content="tea")
        )
        return memory_service_pb2_grpc.MemoryServiceStub(channel).PutMemory(put, timeout=DEADLINE)
    update = project_service_pb2.UpdateProjectRequest(
        project=project_pb2.Project(settings=project_pb2.ProjectSettings(language="german")),
        update_mask=FieldMask(paths=["settings.language"]),
    )
    return project_service_pb2_grpc.ProjectServiceStub(channel).UpdateProject(update, timeout=DEADLINE)


async def test_deadlines_end_the_work_and_lose_no_connection(
    settings: Settings, locked: psycopg.Connection[tuple[int]], database: TestDatabase, tally: Tally
) -> None:
    async with (
        open_services(settings, pool_size=settings.pool_size) as services,
        serving(settings, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        ended = []
        with psycopg.connect(database.superuser_url, autocommit=True) as watcher:
            for start in range(0, CALLS, AT_ONCE):
                codes = await asyncio.gather(
                    *(late(channel, number) for number in range(start, start + AT_ONCE))
                )
                for code in codes:
                    tally.count(code is grpc.StatusCode.DEADLINE_EXCEEDED, code)
                ended.append(await seconds_until_quiet(watcher))
                tally.count(ended[-1] <= GRACE, "work goes on")
        stats = services.database.pool.get_stats()
        tally.count(await is_whole(services.database.pool), stats)
        cut = stats.get("returns_bad", 0)
        tally.count(cut <= CALLS // 100, f"{cut} connections were cut instead of their statements")
    kept = sum(seconds <= PROMISE for seconds in ended)
    tally.note = f"in {kept:,} of {len(ended):,} rounds the work had ended within {PROMISE} s of the deadline"
    assert not tally.failures


async def is_whole(pool: Pool) -> bool:
    """Soon every connection of the pool is free again; those that were cut are replaced in the background."""
    for _ in range(500):
        stats = pool.get_stats()
        if stats["pool_available"] == stats["pool_size"] >= stats["pool_min"]:
            return True
        await asyncio.sleep(0.01)
    return False


async def late(channel: grpc.aio.Channel, number: int) -> grpc.StatusCode:
    try:
        await requests(channel, number)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def seconds_until_quiet(watcher: psycopg.Connection[tuple[int]]) -> float:
    """Until no statement of the app runs any more; it is waited for no longer than a little beyond the grace."""
    start = time.monotonic()
    while True:
        row = watcher.execute(ACTIVE).fetchone()
        seconds = time.monotonic() - start
        if row == (0,) or seconds > GRACE:
            return seconds
        await asyncio.sleep(0.01)
