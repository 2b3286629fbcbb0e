"""kill -9 of workers while they turn recorded turns into memories: each is made once."""

import asyncio
import os
import random
import signal
from collections import Counter, deque
from pathlib import Path
from uuid import UUID

import pytest

from ricordo import AsyncClient
from ricordo.models import ExtractionPolicy, NewTurn, ProjectChanges, Scope
from ricordo_server.db.connection import Database, project_transaction
from ricordo_server.db.jobs import MOST_LOST_WORKERS, defer_job
from tests.fixtures.database import TestDatabase, service_principal
from tests.jobs.queue import read_jobs, until
from tests.proof.conftest import Tally
from tests.proof.scale import scaled
from tests.proof.workers import is_alive, open_extractions, until_slowly, worker_programs

pytestmark = [pytest.mark.xdist_group("workers"), pytest.mark.usefixtures("empty_queue")]

KILLS = scaled(200)
SESSIONS, TURNS_EACH = 5, 10
POLICY = ExtractionPolicy(kinds=["semantic"], turn_count=TURNS_EACH, topic_shift=None, idle=None)


async def test_killed_workers_lose_and_double_nothing(
    database: TestDatabase, project_id: UUID, service_target: str, tmp_path: Path, tally: Tally
) -> None:
    said: list[str] = []
    async with AsyncClient(service_target) as client, worker_programs(database, tmp_path) as workers:
        await client.project.update(ProjectChanges(extraction=POLICY))
        alive = deque([await workers.start(), await workers.start()])
        for number in range(KILLS):
            said += await record(client, number)
            await asyncio.sleep(random.random() / 3)
            os.kill(alive.popleft(), signal.SIGKILL)
            alive.append(await workers.start())
        await finish(client, database, project_id)
        made = Counter([each.content async for each in client.memories.list(page_size=1000)])
    for fact in said:
        tally.count(made[fact] == 1, (fact, made[fact]))
    assert not tally.failures
    assert len(said) == KILLS * SESSIONS * TURNS_EACH == made.total()


async def test_a_job_that_kills_its_workers_is_given_up_and_keeps_nobody(
    app_database: Database,
    database: TestDatabase,
    project_id: UUID,
    service_target: str,
    tmp_path: Path,
    tally: Tally,
) -> None:
    async with AsyncClient(service_target) as client, worker_programs(database, tmp_path) as workers:
        await client.project.update(ProjectChanges(extraction=POLICY))
        principal = service_principal(project_id)
        async with project_transaction(app_database.pool, principal, timeout=30) as connection:
            await defer_job(connection, "poison", {})
        said = [fact for number in range(scaled(20)) for fact in await record(client, number)]
        while not is_given_up(database, project_id):
            pid = await workers.start()
            await until(lambda pid=pid: not is_alive(pid) or is_given_up(database, project_id))  # type: ignore[misc]
        await finish(client, database, project_id)
        made = Counter([each.content async for each in client.memories.list(page_size=1000)])
    for fact in said:
        tally.count(made[fact] == 1, (fact, made[fact]))
    assert not tally.failures
    [poison] = [job for job in read_jobs(database, project_id) if job["task_name"] == "poison"]
    assert poison["lost_workers"] == MOST_LOST_WORKERS + 1


def is_given_up(database: TestDatabase, project_id: UUID) -> bool:
    jobs = read_jobs(database, project_id)
    return [job["status"] for job in jobs if job["task_name"] == "poison"] == ["failed"]


async def finish(client: AsyncClient, database: TestDatabase, project_id: UUID) -> None:
    """What was lost with its worker again and again was given up where everyone sees it, and is tried again."""
    await until_slowly(lambda: not open_extractions(database, project_id))
    for failure in [each async for each in client.extraction.list_failures()]:
        await client.extraction.retry_failure(failure.snapshot_id, failure.kind)
    await until_slowly(lambda: not open_extractions(database, project_id))


async def record(client: AsyncClient, number: int) -> list[str]:
    said: list[str] = []
    for session in range(SESSIONS):
        name = f"{number}x{session}"
        facts = [f"I own the boat named {name}y{turn}." for turn in range(TURNS_EACH)]
        turns = [NewTurn(role="user", content=fact) for fact in facts]
        await client.sessions.batch_record_turns(turns, scope=Scope(user_id=f"u{session}", session_id=name))
        said += facts
    return said
