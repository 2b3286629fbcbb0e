"""A job belongs to the transaction that defers it, and to its project; who may do what to the queue."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo_server.db.connection import Database, project_transaction, tenant_transaction
from ricordo_server.db.jobs import defer_job
from tests.fixtures.database import TestDatabase, make_project, service_principal, user_principal
from tests.jobs.queue import read_jobs

DENIED = "42501"


async def test_a_job_is_there_when_its_transaction_commits(
    app_database: Database, database: TestDatabase, project_id: UUID
) -> None:
    later = datetime(2100, 1, 1, tzinfo=UTC)
    async with tenant_transaction(app_database, service_principal(project_id), "", timeout=30) as connection:
        await defer_job(connection, "t", {"store_id": "default"}, lock="l", start_time=later)
        assert read_jobs(database, project_id) == []
    [job] = read_jobs(database, project_id)
    assert (job["task_name"], job["args"], job["status"]) == ("t", {"store_id": "default"}, "todo")
    assert (job["lock"], job["scheduled_at"]) == (f"{project_id}:l", later)


async def test_a_job_goes_with_its_transaction(
    app_database: Database, database: TestDatabase, project_id: UUID
) -> None:
    async def defer_and_fail() -> None:
        async with project_transaction(
            app_database.pool, service_principal(project_id), timeout=30
        ) as connection:
            await defer_job(connection, "t", {})
            raise LookupError

    with pytest.raises(LookupError):
        await defer_and_fail()
    assert read_jobs(database, project_id) == []


async def test_an_end_users_call_may_defer(
    app_database: Database, database: TestDatabase, project_id: UUID
) -> None:
    principal = user_principal(project_id, "ann")
    async with tenant_transaction(app_database, principal, "", timeout=30) as connection:
        await defer_job(connection, "t", {})
    assert len(read_jobs(database, project_id)) == 1


@pytest.mark.parametrize(("task", "lock", "deferred"), [("t", "l", 1), ("t", "m", 2), ("u", "l", 2)])
async def test_unless_one_of_this_task_and_lock_waits(
    app_database: Database, database: TestDatabase, project_id: UUID, task: str, lock: str, deferred: int
) -> None:
    async with project_transaction(
        app_database.pool, service_principal(project_id), timeout=30
    ) as connection:
        assert await defer_job(connection, "t", {}, lock="l", unless_waiting=True)
        again = await defer_job(connection, task, {}, lock=lock, unless_waiting=True)
    assert (again, len(read_jobs(database, project_id))) == (deferred == 2, deferred)


async def test_arguments_are_no_place_for_content(app_database: Database, project_id: UUID) -> None:
    with pytest.raises(psycopg.errors.RaiseException):
        async with project_transaction(
            app_database.pool, service_principal(project_id), timeout=30
        ) as connection:
            await defer_job(connection, "t", {"text": "x" * 5_000})


async def test_a_job_of_a_busy_project_comes_after_one_of_an_idle_project(
    app_database: Database, database: TestDatabase, project_id: UUID
) -> None:
    """5,000 jobs wait; another project's single job is behind one of them."""
    idle = make_project(database)
    for project, jobs in ((project_id, 5_000), (idle, 1)):
        async with project_transaction(
            app_database.pool, service_principal(project), timeout=60
        ) as connection:
            await connection.execute(
                "SELECT ricordo.defer_job('t', '{}', NULL, NULL, 0, false) FROM generate_series(1, %(jobs)s)",
                {"jobs": jobs},
            )
    order = "ORDER BY priority DESC, id"  # as the queue fetches
    statement = f"SELECT queue_name FROM procrastinate.procrastinate_jobs WHERE queue_name = ANY (%s) {order}"
    with psycopg.connect(database.operator_url) as connection:
        queues = [name for (name,) in connection.execute(statement, [[str(project_id), str(idle)]])]
        connection.execute(
            "DELETE FROM procrastinate.procrastinate_jobs WHERE queue_name = %s", [str(project_id)]
        )
    assert queues.index(str(idle)) == 1


@pytest.fixture
def app(database: TestDatabase) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database.app_url) as connection:
        yield connection


def state_of(connection: psycopg.Connection[Any], statement: str) -> str | None:
    try:
        connection.execute(statement)
    except psycopg.Error as error:
        connection.rollback()
        return error.sqlstate
    return None


QUEUE_TABLES = (
    "procrastinate_jobs",
    "procrastinate_events",
    "procrastinate_workers",
    "procrastinate_periodic_defers",
)


@pytest.mark.parametrize(
    "table", [*(f"procrastinate.{table}" for table in QUEUE_TABLES), "ricordo.job_failure"]
)
@pytest.mark.parametrize("command", ["SELECT FROM {}", "DELETE FROM {}", "INSERT INTO {} DEFAULT VALUES"])
def test_the_app_role_reaches_no_table_of_the_queue(
    app: psycopg.Connection[Any], table: str, command: str
) -> None:
    assert state_of(app, command.format(table)) == DENIED


@pytest.mark.parametrize(
    "call",
    ["procrastinate_fetch_job_v2(NULL, 1)", "procrastinate_cancel_job_v1(1, false, true)"],
)
def test_the_app_role_calls_no_function_of_the_queue(app: psycopg.Connection[Any], call: str) -> None:
    assert state_of(app, f"SELECT procrastinate.{call}") == DENIED


def test_no_job_without_a_project(app: psycopg.Connection[Any]) -> None:
    assert state_of(app, "SELECT ricordo.defer_job('t', '{}', NULL, NULL, 0, false)") in ("22P02", "42704")


@pytest.mark.parametrize(
    "function",
    [
        "ricordo.defer_job(text, jsonb, text, timestamptz, integer, boolean)",
        "ricordo.analyze_parent(text)",
    ],
)
@pytest.mark.parametrize("role", ["ricordo_app", "ricordo_text", "ricordo_operator", "public"])
def test_functions_that_act_as_the_owner_are_for_one_role(
    database: TestDatabase, function: str, role: str
) -> None:
    allowed = {"defer_job": "ricordo_app", "analyze_parent": "ricordo_operator"}
    expected = any(name in function and role == allowed[name] for name in allowed)
    with psycopg.connect(database.superuser_url) as connection:
        found = connection.execute("SELECT has_function_privilege(%s, %s, 'EXECUTE')", [role, function])
        assert found.fetchone() == (expected,)
