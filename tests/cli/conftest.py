"""A server of `ricordo up` for the commands that use one, with a project for each test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ricordo import Client
from ricordo_server.cli import app
from tests.cli.programs import started

READY = r"ready on (127\.0\.0\.1:\d+): project ([0-9a-f-]{36}), data in (\S+)\."


@dataclass(frozen=True)
class Stack:
    target: str
    project_id: str
    folder: Path


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """What `ricordo up` starts."""
    folder = tmp_path_factory.mktemp("up")
    with started(folder / "output", "up", "--port", "0", "--data-folder", str(folder / "data")) as program:
        ready = program.wait_for(READY)
        yield Stack(ready[1], ready[2], Path(ready[3]))


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    """A client in a new project of this test's own."""
    with Client(stack.target, token="development:operator") as operator:
        organization = operator.admin.create_organization("test")
        project = operator.admin.create_project("test", organization_id=organization.organization_id)
    with Client(stack.target, token=f"development:{project.project_id}") as client:
        yield client


Invoke = Callable[..., Result]


@pytest.fixture
def ricordo(stack: Stack, client: Client) -> Invoke:
    """Runs a command against the server, in the test's project."""
    project_id = client.project.get().project_id
    environment = {"RICORDO_TARGET": stack.target, "RICORDO_TOKEN": f"development:{project_id}"}

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, arguments, env=environment, input=stdin)

    return invoke
