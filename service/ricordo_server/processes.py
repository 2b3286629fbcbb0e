"""Several server processes on one port: a parent that holds the port, and restarts the children that die.

The parent is no server: it starts each child as a new program (gRPC does not survive a fork) and gives it its orders
as a line on stdin, since arguments and environment can be read by others. The child answers a line on stdout when it
serves. Its stdin stays open as long as the parent lives, so that no child outlives it.
"""

import asyncio
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

log = logging.getLogger("ricordo.processes")

READY = b"ready\n"
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
# A child that served this long was healthy: its death starts the pauses anew.
HEALTHY_SECONDS = 60.0
# Beyond its own delay and grace, before it is killed.
STOP_MARGIN = 5.0


class PortTakenError(Exception):
    """Another program has the port, or the host is not this machine's; the message says what to do."""


class ChildFailedError(Exception):
    """A child ended before it ever served: its own message on stderr says why."""


def find_port(host: str, port: int) -> int:
    """The port, or a free one for 0, once an exclusive bind has shown that nobody has it.

    Servers with SO_REUSEPORT would share a port silently, and each would get some of the other's calls.
    """
    return _bind(host, port, socket.SO_REUSEADDR, close=True)[1]


@contextmanager
def held_port(host: str, port: int) -> Iterator[int]:
    """Holds the port, so that it stays ours until a server listens, also between children; they share it by
    SO_REUSEPORT."""
    holder, number = _bind(host, find_port(host, port), socket.SO_REUSEPORT)
    with holder:  # bound and not listening: it gets no connections
        yield number


def _bind(host: str, port: int, option: int, *, close: bool = False) -> tuple[socket.socket, int]:
    bound: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, option, 1)
        bound.bind(address)
    except OSError as error:
        if bound is not None:
            bound.close()
        raise PortTakenError(
            f"cannot take port {port} of {host} ({error.strerror}): another program has it; stop that one, "
            "or choose another port (0 takes a free one)"
        ) from error
    number = int(bound.getsockname()[1])
    if close:
        bound.close()
    return bound, number


@dataclass
class Supervisor:
    """Keeps `count` children of one command alive until `stopped` is set."""

    command: Sequence[str]
    orders: str
    count: int
    patience: float
    """Seconds that a child gets after SIGTERM."""
    stopped: asyncio.Event
    on_ready: Callable[[], None]
    _served: set[int] = field(default_factory=set)

    async def run(self) -> None:
        """Returns when all children have ended.

        Raises:
            ChildFailedError: one ended before it ever served; the others are stopped.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.count):
                    group.create_task(self._keep_alive(number))
        except* ChildFailedError as failures:
            raise failures.exceptions[0] from None

    async def _keep_alive(self, number: int) -> None:
        pause = FIRST_PAUSE
        while not self.stopped.is_set():
            start = time.monotonic()
            status = await self._run_child(number)
            if self.stopped.is_set():
                return
            if number not in self._served:
                raise ChildFailedError(f"a server process ended with status {status} before it was ready")
            pause = FIRST_PAUSE if time.monotonic() - start > HEALTHY_SECONDS else pause
            log.warning("process ended", extra={"child": number, "status": status, "restart_in": pause})
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopped.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run_child(self, number: int) -> int:
        """Out of reach of the terminal's Ctrl-C: the parent alone decides."""
        child = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        greeting = asyncio.create_task(self._greet(child, number))
        stop = asyncio.create_task(self.stopped.wait())
        ended = asyncio.create_task(child.wait())
        try:
            await asyncio.wait([stop, ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await asyncio.shield(self._end(child))
            for task in (greeting, stop, ended):
                task.cancel()
        if greeting.done() and not greeting.cancelled():
            greeting.result()  # raises what went wrong in it
        return child.returncode or 0

    async def _greet(self, child: asyncio.subprocess.Process, number: int) -> None:
        assert child.stdin is not None  # noqa: S101 - a pipe
        assert child.stdout is not None  # noqa: S101 - a pipe
        with suppress(ConnectionError):
            child.stdin.write(self.orders.encode() + b"\n")
            await child.stdin.drain()
        if await child.stdout.readline() != READY:
            return
        log.info("process ready", extra={"child": number, "pid": child.pid})
        is_last = number not in self._served and len(self._served) == self.count - 1
        self._served.add(number)
        if is_last:
            self.on_ready()

    async def _end(self, child: asyncio.subprocess.Process) -> None:
        with suppress(ProcessLookupError):
            child.terminate()
        try:
            await asyncio.wait_for(child.wait(), self.patience + STOP_MARGIN)
        except TimeoutError:
            log.error("process killed", extra={"pid": child.pid})
            child.kill()
            await child.wait()


def read_orders() -> str:
    """In a child: what the parent says first."""
    return sys.stdin.readline()


def report_ready() -> None:
    """In a child: tells the parent that it serves."""
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()


def watch_parent(on_gone: Callable[[], None]) -> None:
    """In a child: calls `on_gone` when the parent has ended, however it ended."""
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()

    def read() -> None:
        if not os.read(descriptor, 4096):
            loop.remove_reader(descriptor)
            on_gone()

    loop.add_reader(descriptor, read)
