"""What `_sync` needs from grpc. `_aio` has the same names for asyncio."""

from collections.abc import Callable, Sequence
from threading import Lock
from time import sleep
from typing import Protocol, TypeVar

from grpc import Channel, insecure_channel, secure_channel

__all__ = [
    "Channel",
    "Lock",
    "Method",
    "current_loop",
    "gather",
    "insecure_channel",
    "resolved",
    "secure_channel",
    "sleep",
]

Metadata = tuple[tuple[str, str | bytes], ...]
Request = TypeVar("Request", contravariant=True)
Reply = TypeVar("Reply", covariant=True)
Result = TypeVar("Result")


class Method(Protocol[Request, Reply]):
    """One unary call of a stub."""

    def __call__(self, request: Request, *, timeout: float | None, metadata: Metadata) -> Reply:
        """Sends the request; `timeout` is in seconds."""


def resolved(value: Result) -> Result:
    """The value."""
    return value


def current_loop() -> object:
    """What a channel belongs to: nothing, it serves every thread."""
    return None


def gather(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """Runs the calls one after the other."""
    return [call() for call in calls]
