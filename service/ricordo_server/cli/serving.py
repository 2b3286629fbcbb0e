"""Serves until SIGTERM or Ctrl-C, in this process or in several."""

import asyncio
import gc
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from ricordo_server import processes
from ricordo_server.config import Settings
from ricordo_server.logs import log_to, open_log
from ricordo_server.server import RunningServer, running_server, stop_signals
from ricordo_server.worker import work, working

Announce = Callable[[int], None]
CHILD_COMMAND = "serve-child"

log = logging.getLogger("ricordo.server")


def stop_on_sigterm() -> None:
    """Until the server takes over, SIGTERM unwinds what runs, as Ctrl-C does: Postgres must not stay behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def serve_until_stopped(settings: Settings, announce: Announce, *, log_file: Path | None = None) -> None:
    """Tells `announce` the port once every process is ready.

    Raises:
        PortTakenError: another program has the port.
        UnsafeToServe: the database or the model is not as it must be.
        ChildFailedError: of several processes one did not get ready.
    """
    with _opened(log_file) as stream:
        log_to(stream)
        with processes.held_port(settings.host, settings.port) as port:
            held = settings.model_copy(update={"port": port})
            if held.processes == 1:
                asyncio.run(_serve(held, announce))
            else:
                asyncio.run(_supervise(held, announce, log_file))


def _opened(log_file: Path | None) -> TextIO:
    """A copy of stderr, so that closing it does no harm."""
    return open_log(log_file) if log_file else open(sys.stderr.fileno(), "w", closefd=False)


async def _serve(settings: Settings, announce: Announce) -> None:
    stopped = stop_signals()
    async with serving_held_port(settings) as server:
        announce(server.port)
        await stopped.wait()


def keep_what_is_loaded() -> None:
    """What the program has made by now stays until its end. A full collection that looks through all of it takes 0.12
    seconds, in which no call gets on; without it 3 milliseconds."""
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def serving_held_port(settings: Settings) -> AsyncIterator[RunningServer]:
    """A server on a port that this program or its parent holds, with a worker inside if the settings say so."""
    async with running_server(settings, reuse_port=True) as running:
        keep_what_is_loaded()
        if not settings.with_worker:
            yield running
            return
        async with working(settings, running.services):
            yield running


def work_until_stopped(settings: Settings, announce: Callable[[], None]) -> None:
    """Tells `announce` when it works.

    Raises:
        UnsafeToServe: the database or the model is not as it must be.
    """
    with _opened(None) as stream:
        log_to(stream)
        asyncio.run(work(settings, on_ready=announce))


async def _supervise(settings: Settings, announce: Announce, log_file: Path | None) -> None:
    orders = {"settings": settings.model_dump(mode="json"), "log_file": str(log_file) if log_file else None}
    await processes.Supervisor(
        command=[sys.executable, "-m", "ricordo_server", CHILD_COMMAND],
        orders=json.dumps(orders),
        count=settings.processes,
        # First the jobs under way get their grace, then the calls.
        patience=settings.shutdown_delay + settings.shutdown_grace * (2 if settings.with_worker else 1),
        stopped=stop_signals(),
        on_ready=lambda: announce(settings.port),
    ).run()


def serve_as_child() -> None:
    """One of several processes, with the settings that its parent sends."""
    orders = json.loads(processes.read_orders())
    log_file = Path(orders["log_file"]) if orders["log_file"] else None
    with _opened(log_file) as stream:
        log_to(stream)
        asyncio.run(_serve_child(Settings(**orders["settings"])))


async def _serve_child(settings: Settings) -> None:
    stopped = stop_signals()
    processes.watch_parent(stopped.set)
    async with serving_held_port(settings):
        processes.report_ready()
        await stopped.wait()
