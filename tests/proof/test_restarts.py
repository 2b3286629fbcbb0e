"""Server processes get SIGTERM under load, one after the other: no call of a retrying client fails."""

import asyncio
import os
import signal
from pathlib import Path
from uuid import UUID

import pytest

from ricordo import AsyncClient, errors, models
from tests.cli.programs import Program, children_of, environment_of, started
from tests.fixtures.database import TestDatabase
from tests.proof.conftest import Tally
from tests.proof.scale import scaled

pytestmark = pytest.mark.xdist_group("restarts")

STOPS, CALLERS = scaled(50), 8


async def test_no_call_fails_while_processes_are_replaced(
    database: TestDatabase, project_id: UUID, tmp_path: Path, tally: Tally
) -> None:
    environment = environment_of({"database_url": database.app_url, "development_project": project_id})
    with started(tmp_path, "serve", "--port", "0", "--processes", "2", **environment) as program:
        target = program.wait_for(r"ready on (127\.0\.0\.1:\d+)")[1]
        stopped = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(CALLERS):
                group.create_task(call_on(target, number, stopped, tally))
            for _ in range(STOPS):
                await replace_one(program)
            stopped.set()
    assert not tally.failures
    assert tally.cases > STOPS * CALLERS


async def replace_one(program: Program) -> None:
    """Ends the child that has served longest, and waits until another serves in its place."""
    ready = program.errors.count('"process ready"')
    os.kill(min(children_of(program.process.pid)), signal.SIGTERM)
    while program.errors.count('"process ready"') == ready:  # noqa: ASYNC110 - another program's log
        await asyncio.sleep(0.1)


async def call_on(target: str, number: int, stopped: asyncio.Event, tally: Tally) -> None:
    async with AsyncClient(target, local_subchannel_pool=True, timeout=30) as client:
        while not stopped.is_set():
            fact = models.NewMemory(content=f"fact of {number}")
            try:
                memory = await client.memories.create(fact)
                await client.memories.get(memory.memory_id)
            except errors.MemoryAPIError as error:
                tally.count(False, str(error))
            else:
                tally.count(True, "")
            await asyncio.sleep(0.01)
