import os
import signal
import socket
import time
from pathlib import Path
from uuid import UUID

from ricordo import Client
from ricordo_server.processes import find_port, held_port
from tests.cli.programs import SECONDS, Program, children_of, environment_of, run_program, started
from tests.fixtures.database import TestDatabase


def settings_of(database: TestDatabase, project_id: UUID) -> dict[str, str]:
    return environment_of(
        {"database_url": database.app_url, "development_project": project_id, "pool_size": 4}
    )


def wait_for_children(program: Program, but_not: int) -> list[int]:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        children = children_of(program.process.pid)
        if len(children) == 2 and but_not not in children and program.errors.count('"process ready"') == 3:
            return children
        time.sleep(0.1)
    raise AssertionError(program.errors)


def test_two_processes_serve_one_port_and_the_dead_is_replaced(
    database: TestDatabase, project_id: UUID, tmp_path: Path
) -> None:
    environment = settings_of(database, project_id)
    with started(tmp_path, "serve", "--port", "0", "--processes", "2", **environment) as program:
        target = program.wait_for(r"ready on (127\.0\.0\.1:\d+) \(2 processes\)")[1]
        first, second = children_of(program.process.pid)
        call_both(target)

        os.kill(first, signal.SIGKILL)
        with Client(target, local_subchannel_pool=True) as client:
            client.project.get()  # the other one serves on
        children = wait_for_children(program, first)
        assert second in children
        call_both(target)

        refused = run_program("serve", "--port", target.partition(":")[2], **environment)
        assert refused.returncode == 1
        assert "another program has it" in refused.stderr
        assert program.stop() == 0
        assert all(not Path(f"/proc/{child}").exists() for child in children)
        assert program.output.count("\n") == 1


def call_both(target: str) -> None:
    """Connections are spread by the kernel: of 24, each of two processes gets some."""
    for _ in range(24):
        with Client(target, local_subchannel_pool=True) as client:
            client.project.get()


def test_children_end_with_a_parent_that_is_killed(
    database: TestDatabase, project_id: UUID, tmp_path: Path
) -> None:
    with started(
        tmp_path, "serve", "--port", "0", "--processes", "2", **settings_of(database, project_id)
    ) as program:
        program.wait_for("ready on")
        children = children_of(program.process.pid)
        program.process.kill()
        program.process.wait()
        deadline = time.monotonic() + SECONDS
        while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_a_child_that_cannot_start_ends_the_server(
    database: TestDatabase, project_id: UUID, tmp_path: Path
) -> None:
    environment = settings_of(database, project_id) | {"RICORDO_EMBEDDING__DIMENSION": "32"}
    failed = run_program("serve", "--port", "0", "--processes", "2", **environment)
    assert failed.returncode == 1
    assert "the embedding model hashing-32 is registered not at all: run `ricordo migrate`" in failed.stderr
    assert "ended with status 1 before it was ready" in failed.stderr


def test_a_held_port_is_not_free_and_takes_no_connections() -> None:
    with held_port("127.0.0.1", 0) as port:
        refused = run_program(
            "serve",
            "--port",
            str(port),
            RICORDO_DATABASE_URL="x",
            RICORDO_DEVELOPMENT_PROJECT=str(UUID(int=1)),
        )
        assert "another program has it" in refused.stderr
        with socket.socket() as caller:
            assert caller.connect_ex(("127.0.0.1", port)) != 0
    assert find_port("127.0.0.1", port) == port
