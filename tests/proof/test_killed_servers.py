"""kill -9 of server processes under a write load, so that replies are lost behind their commit: each write is one."""

import asyncio
import os
import random
import signal
from collections import Counter
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from ricordo import AsyncClient, errors, models
from tests.cli.programs import Program, children_of, environment_of, started
from tests.fixtures.database import TestDatabase
from tests.proof.conftest import Tally
from tests.proof.scale import scaled

pytestmark = pytest.mark.xdist_group("restarts")

WRITES, CALLERS = scaled(1_000), 8
KILLS = max(3, WRITES // 50)


async def test_a_write_whose_reply_is_lost_is_there_once(
    database: TestDatabase, project_id: UUID, tmp_path: Path, tally: Tally
) -> None:
    environment = environment_of({"database_url": database.app_url, "development_project": project_id})
    with started(tmp_path, "serve", "--port", "0", "--processes", "2", **environment) as program:
        target = program.wait_for(r"ready on (127\.0\.0\.1:\d+)")[1]
        written: list[str] = []
        is_over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(CALLERS):
                group.create_task(write_on(target, number, is_over, written))
            for _ in range(KILLS):
                await kill_one(program, written)
            is_over.set()
        async with AsyncClient(target, timeout=30) as client:
            stored = Counter([each.content async for each in client.memories.list(page_size=1000)])
    for content in written:
        tally.count(stored[content] == 1, (content, stored[content]))
    assert not tally.failures
    assert stored.total() == len(written)
    assert tally.cases >= WRITES


async def kill_one(program: Program, written: list[str]) -> None:
    """At any moment, between two kills a share of the writes; then waits for the one in its place."""
    target = len(written) + WRITES // KILLS + 1
    while len(written) < target:  # noqa: ASYNC110 - what others do
        await asyncio.sleep(random.random() / 100)
    ready = program.errors.count('"process ready"')
    os.kill(min(children_of(program.process.pid)), signal.SIGKILL)
    while program.errors.count('"process ready"') == ready:  # noqa: ASYNC110 - another program's log
        await asyncio.sleep(0.1)


async def write_on(target: str, number: int, is_over: asyncio.Event, written: list[str]) -> None:
    """Each until it is acknowledged, always under the same request id."""
    async with AsyncClient(target, local_subchannel_pool=True, timeout=10) as client:
        while not is_over.is_set():
            content, request_id = f"fact of {number}: {uuid4()}", uuid4().hex
            while True:
                try:
                    await client.memories.create(models.NewMemory(content=content), request_id=request_id)
                except errors.MemoryAPIError:
                    await asyncio.sleep(0.05)
                else:
                    break
            written.append(content)
