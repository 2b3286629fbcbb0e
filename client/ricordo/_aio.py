"""What `_async` needs from grpc and asyncio. `_blocking` has the same names for threads."""

import asyncio
import inspect
from asyncio import Lock, sleep
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from grpc.aio import Channel, insecure_channel, secure_channel

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

    def __call__(self, request: Request, *, timeout: float | None, metadata: Metadata) -> Awaitable[Reply]:
        """Sends the request; `timeout` is in seconds."""


async def resolved(value: Result | Awaitable[Result]) -> Result:
    """The value, waited for where that is needed."""
    if inspect.isawaitable(value):
        return await value
    return value


def current_loop() -> object:
    """What a channel belongs to: the running event loop."""
    return asyncio.get_running_loop()


async def gather(calls: Sequence[Callable[[], Awaitable[Result]]]) -> list[Result]:
    """Runs the calls at the same time; when one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(call()) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
