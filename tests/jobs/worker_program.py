"""A worker as a program of its own, with a kind of job that says what it does."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.domain.call import Call
from ricordo_server.jobs.kind import JobKind
from ricordo_server.server import open_services, stop_signals
from ricordo_server.worker import working


async def wait_for_file(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    """Notes that it began, ends when the file `go` is there, and notes that too."""
    folder = Path(arguments["folder"])
    with (folder / "begun").open("a") as begun:
        begun.write("x")
    while not (folder / "go").exists():  # noqa: ASYNC110 - what happens elsewhere
        await asyncio.sleep(0.02)
    with (folder / "done").open("a") as done:
        done.write("x")


KINDS = (JobKind("wait_for_file", wait_for_file, seconds=600),)


async def main() -> None:
    stopped = stop_signals()
    settings = Settings()
    async with (
        open_services(settings, pool_size=2) as services,
        working(settings, services, kinds=KINDS),
    ):
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main())
