"""Workers as programs of their own, soon there: what they import is imported once, and each one is a fork.

A line on stdin asks for one; its process id is written to stdout as soon as it works. They end with this program.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.domain.call import Call
from ricordo_server.jobs.kind import JobKind
from ricordo_server.jobs.registry import KINDS
from ricordo_server.logs import log_to
from ricordo_server.server import open_services, stop_signals
from ricordo_server.worker import working

END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


async def end_worker(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    """What a job does that takes its worker with it."""
    os._exit(1)


POISON = JobKind("poison", end_worker)


async def work() -> None:
    stopped, settings = stop_signals(), Settings()
    pool_size = settings.worker_concurrency + 1
    async with (
        open_services(settings, pool_size=pool_size) as services,
        working(settings, services, kinds=(*KINDS, POISON)),
    ):
        print(os.getpid(), flush=True)  # noqa: T201
        await stopped.wait()


def begin() -> int:
    child = os.fork()
    if child:
        return child
    import ctypes

    ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdin.close()
    asyncio.run(work())
    os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    log_to(sys.stderr)
    for _ in sys.stdin:
        begin()
