"""A whole installation for one measurement: Postgres in a folder, and the server as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from ricordo_server.cli.serving import stop_on_sigterm
from ricordo_server.cli.stack import prepared_stack
from ricordo_server.config import Settings
from ricordo_server.embedding import EmbeddingSettings, load_embedder
from ricordo_server.embedding.settings import Provider
from ricordo_server.processes import find_port

START_TIMEOUT = 60
STOP_TIMEOUT = 30


@dataclass(frozen=True)
class Stack:
    """Where to call, as whom, and the database behind it."""

    target: str
    token: str
    project_id: str
    embedding: EmbeddingSettings
    embedder: str
    default_model: bool
    app_url: str
    operator_url: str
    superuser_url: str


@contextmanager
def running_stack(
    folder: Path,
    *,
    provider: Provider = "local",
    dimension: int = 0,
    processes: int = 1,
    with_worker: bool = False,
) -> Iterator[Stack]:
    """The stack of `ricordo up`, for the block; SIGTERM ends the block, as Ctrl-C does."""
    stop_on_sigterm()
    embedding = EmbeddingSettings(provider=provider, dimension=dimension)
    settings = Settings(
        data_folder=folder,
        embedding=embedding,
        processes=processes,
        with_worker=with_worker,
        port=find_port("127.0.0.1", 0),
    )
    with prepared_stack(settings) as connected, _server(connected, folder / "server.log"):
        project_id = str(connected.development_project)
        yield Stack(
            target=f"127.0.0.1:{connected.port}",
            token=f"development:{project_id}",
            project_id=project_id,
            embedding=embedding,
            embedder=load_embedder(embedding).name,
            default_model=embedding == EmbeddingSettings(),
            app_url=connected.database_url,
            operator_url=connected.operator_url,
            superuser_url=connected.owner_url,
        )


@contextmanager
def _server(settings: Settings, log: Path) -> Iterator[None]:
    """`ricordo serve`, its log in a file; a failure shows the end of that file."""
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "ricordo_server", "serve"],
            env={**os.environ, **_environment(settings)},
            stdout=output,
            stderr=output,
        )
        try:
            _wait_until_ready(child, settings.port, log)
            yield
        finally:
            child.terminate()
            child.wait(STOP_TIMEOUT)


def _environment(settings: Settings) -> dict[str, str]:
    return {
        "RICORDO_DATABASE_URL": settings.database_url,
        "RICORDO_OPERATOR_URL": settings.operator_url,
        "RICORDO_PORT": str(settings.port),
        "RICORDO_PROCESSES": str(settings.processes),
        "RICORDO_WITH_WORKER": str(settings.with_worker),
        "RICORDO_DEVELOPMENT_PROJECT": str(settings.development_project),
        "RICORDO_EMBEDDING__PROVIDER": settings.embedding.provider,
        "RICORDO_EMBEDDING__DIMENSION": str(settings.embedding.dimension),
    }


def _wait_until_ready(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        ready = grpc.channel_ready_future(channel)
        for _ in range(START_TIMEOUT):
            try:
                return ready.result(timeout=1)
            except grpc.FutureTimeoutError:
                if child.poll() is not None:
                    break
    raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')[-2_000:]}")
