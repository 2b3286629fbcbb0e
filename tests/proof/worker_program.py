"""Workers as programs of their own, soon there: what they import is imported once, and each one is a fork.

A line on stdin asks for one; its process id is written to stdout as soon as it works. They end with this program.
"""

import asyncio
import os
import signal
import sys

from ricordo_server.config import Settings
from ricordo_server.logs import log_to
from ricordo_server.worker import work

END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def begin() -> int:
    child = os.fork()
    if child:
        return child
    import ctypes

    ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdin.close()
    asyncio.run(work(Settings(), on_ready=lambda: print(os.getpid(), flush=True)))  # noqa: T201
    os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    log_to(sys.stderr)
    for _ in sys.stdin:
        begin()
