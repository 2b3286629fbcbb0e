"""Workers as the command line starts them: of their own, inside `serve`, inside `up`."""

import time
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from typer.testing import CliRunner

from ricordo_server.cli import app
from tests.cli.conftest import Stack
from tests.cli.programs import Program, environment_of, run, started
from tests.fixtures.database import TestDatabase
from tests.migrations.databases import clone

__all__ = ["clone"]


def urls(database: TestDatabase) -> dict[str, str]:
    return environment_of({"database_url": database.app_url, "operator_url": database.operator_url})


def workers(database: TestDatabase) -> int:
    with psycopg.connect(database.operator_url) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM procrastinate.procrastinate_workers").fetchall()
    return int(count)


def wait_for_workers(database: TestDatabase, program: Program, count: int) -> None:
    while workers(database) < count:
        assert program.process.poll() is None, program.errors
        time.sleep(0.05)


def test_a_worker_comes_and_goes(clone: TestDatabase, tmp_path: Path) -> None:
    with started(tmp_path, "work", **urls(clone)) as program:
        program.wait_for("worker is ready")
        wait_for_workers(clone, program, 1)
        assert program.stop() == 0
    assert (workers(clone), program.errors.count('"level": "ERROR"')) == (0, 0)


@pytest.mark.parametrize("processes", [1, 2])
def test_serving_processes_work_too(clone: TestDatabase, tmp_path: Path, processes: int) -> None:
    arguments = ("serve", "--with-worker", "--port", "0", "--processes", str(processes))
    environment = urls(clone) | environment_of({"development_project": UUID(int=1)})
    with started(tmp_path, *arguments, **environment) as program:
        program.wait_for("is ready on")
        wait_for_workers(clone, program, processes)
        assert program.stop() == 0
    assert workers(clone) == 0


@pytest.mark.parametrize("command", [("work",), ("serve", "--with-worker")])
def test_a_worker_needs_the_operators_url(database: TestDatabase, command: tuple[str, ...]) -> None:
    refused = run(*command, RICORDO_DATABASE_URL=database.app_url)
    assert refused.exit_code == 2
    assert "RICORDO_OPERATOR_URL" in refused.stderr


@pytest.mark.xdist_group("up")
def test_the_queue_of_up_has_a_worker(stack: Stack) -> None:
    environment = {"RICORDO_TARGET": stack.target, "RICORDO_TOKEN": "development:operator"}
    shown = CliRunner().invoke(app, ["queue"], env=environment)
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.startswith("workers: 1\nall: ")
