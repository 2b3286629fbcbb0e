"""Jobs run inside their tenant, are tried again as their failure says, and outlive their worker."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store
from ricordo_server.config import Settings
from ricordo_server.db.connection import Database, project_transaction
from ricordo_server.db.jobs import MOST_LOST_WORKERS, defer_job
from ricordo_server.domain.call import Call
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.jobs.kind import JobKind
from ricordo_server.server import open_services
from ricordo_server.worker import reclaim
from tests.cli.programs import environment_of, started
from tests.fixtures.database import TestDatabase, make_project, service_principal
from tests.jobs.queue import read_jobs, states, until, worker


async def defer(app_database: Database, project_id: UUID, task: str, arguments: Mapping[str, Any]) -> None:
    async with project_transaction(
        app_database.pool, service_principal(project_id), timeout=30
    ) as connection:
        await defer_job(connection, task, arguments)


async def test_a_job_works_inside_its_own_project(
    app_database: Database, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    seen: list[tuple[UUID, Mapping[str, Any]]] = []

    async def note(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
        async with in_store(services.database, call, arguments["store_id"]) as connection:
            seen.append((connection.project_id, arguments))

    other = make_project(database)
    await defer(app_database, other, "note_place", {"store_id": "default", "number": 2})
    async with worker(settings, JobKind("note_place", note)):
        await until(lambda: states(database, other) == [])
    assert seen == [(other, {"store_id": "default", "number": 2})]


async def test_a_job_whose_store_is_gone_is_done(
    app_database: Database, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    async def enter(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
        async with in_store(services.database, call, "deleted"):
            raise AssertionError

    await defer(app_database, project_id, "enter_deleted", {})
    async with worker(settings, JobKind("enter_deleted", enter)):
        await until(lambda: states(database, project_id) == [])


async def test_what_cannot_succeed_is_not_tried_again(
    app_database: Database, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    async def refuse(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
        raise StepError(FailureClass.CONTENT, "no")

    await defer(app_database, project_id, "refuse", {})
    async with worker(settings, JobKind("refuse", refuse)):
        await until(lambda: states(database, project_id) == ["failed"])
    [job] = read_jobs(database, project_id)
    assert (job["attempts"], job["failure_class"], job["error"]) == (1, "CONTENT", "StepError")


async def test_a_job_past_its_limit_is_ended_and_tried_again(
    app_database: Database, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    attempts: list[str] = []

    async def hang_once(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
        attempts.append("begun")
        if len(attempts) == 1:
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                attempts.append("ended")
                raise

    await defer(app_database, project_id, "hang_once", {})
    async with worker(settings, JobKind("hang_once", hang_once, seconds=0.2)):
        await until(lambda: states(database, project_id) == [])
    assert attempts == ["begun", "ended", "begun"]


async def test_a_rate_limit_is_kept(
    app_database: Database, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    async def refuse(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
        raise StepError(FailureClass.RATE_LIMIT, "slowly", retry_after=1_000)

    await defer(app_database, project_id, "rate_limited", {})
    async with worker(settings, JobKind("rate_limited", refuse)):
        await until(lambda: read_jobs(database, project_id)[0]["attempts"] == 1)
    with psycopg.connect(database.operator_url) as connection:
        due = "SELECT scheduled_at - now() > interval '900 seconds' FROM procrastinate.procrastinate_jobs"
        found = connection.execute(f"{due} WHERE queue_name = %s", [str(project_id)])
        assert found.fetchone() == (True,)


@pytest.fixture
def worker_environment(database: TestDatabase, project_id: UUID) -> dict[str, str]:
    given = {"database_url": database.app_url, "operator_url": database.operator_url}
    return environment_of({**given, "worker_lease": 1.5, "shutdown_grace": 1})


PROGRAM = ("-m", "tests.jobs.worker_program")


def noted(folder: Path, name: str) -> int:
    path = folder / name
    return len(path.read_text()) if path.exists() else 0


async def test_a_killed_workers_job_runs_in_another(
    app_database: Database,
    database: TestDatabase,
    project_id: UUID,
    worker_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    await defer(app_database, project_id, "wait_for_file", {"folder": str(tmp_path)})
    with started(tmp_path / "first", program=PROGRAM, **worker_environment) as first:
        await until(lambda: noted(tmp_path, "begun") == 1)
        first.process.kill()
        first.process.wait()
    (tmp_path / "go").touch()
    with started(tmp_path / "second", program=PROGRAM, **worker_environment):
        await until(lambda: states(database, project_id) == [])
    assert (noted(tmp_path, "begun"), noted(tmp_path, "done")) == (2, 1)


async def test_a_job_under_way_may_finish_within_the_grace(
    app_database: Database,
    database: TestDatabase,
    project_id: UUID,
    worker_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    await defer(app_database, project_id, "wait_for_file", {"folder": str(tmp_path)})
    environment = worker_environment | {"RICORDO_SHUTDOWN_GRACE": "100"}
    with started(tmp_path / "output", program=PROGRAM, **environment) as program:
        await until(lambda: noted(tmp_path, "begun") == 1)
        program.process.terminate()
        await asyncio.sleep(0.2)
        (tmp_path / "go").touch()
        assert await asyncio.to_thread(program.process.wait, 120) == 0
    assert (states(database, project_id), noted(tmp_path, "done")) == ([], 1)


async def test_a_job_that_outlasts_the_grace_stays_in_the_queue(
    app_database: Database,
    database: TestDatabase,
    project_id: UUID,
    worker_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    await defer(app_database, project_id, "wait_for_file", {"folder": str(tmp_path)})
    with started(tmp_path / "output", program=PROGRAM, **worker_environment) as program:
        await until(lambda: noted(tmp_path, "begun") == 1)
        assert await asyncio.to_thread(program.stop) == 0
    assert (states(database, project_id), noted(tmp_path, "done")) == (["todo"], 0)


async def test_a_job_that_takes_its_worker_with_it_is_given_up(
    app_database: Database, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    await defer(app_database, project_id, "poison", {})
    taken = "UPDATE procrastinate.procrastinate_jobs SET status = 'doing' WHERE queue_name = %s AND status = 'todo'"
    found = []
    async with open_services(settings, pool_size=1) as services:
        for _ in range(MOST_LOST_WORKERS + 1):
            found += states(database, project_id)
            with psycopg.connect(database.operator_url, autocommit=True) as connection:
                connection.execute(taken, [str(project_id)])
            await reclaim(services, lease=30)
    assert found + states(database, project_id) == ["todo"] * (MOST_LOST_WORKERS + 1) + ["failed"]


async def test_a_job_of_a_living_worker_is_left_to_it(
    app_database: Database, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def wait(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
        begun.set()
        await go.wait()

    await defer(app_database, project_id, "wait", {})
    async with open_services(settings, pool_size=1) as services, worker(settings, JobKind("wait", wait)):
        await begun.wait()
        await reclaim(services, lease=30)
        found = states(database, project_id)
        go.set()
        await until(lambda: states(database, project_id) == [])
    assert found == ["doing"]
