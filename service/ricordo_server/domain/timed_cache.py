"""Values that are good for a while, asked for once by whoever comes at the same time."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

Clock = Callable[[], float]


@dataclass
class _Entry(Generic[Value]):
    task: "asyncio.Task[Value]"
    start: float


class TimedCache(Generic[Key, Value]):
    """At most `size` values, the least recently used go first. A failed load is not kept.

    `seconds` count from the start of the load: a value is never older than that.
    """

    def __init__(
        self,
        load: Callable[[Key], Awaitable[Value]],
        *,
        seconds: float,
        size: int = 1,
        clock: Clock = time.monotonic,
    ) -> None:
        self._load = load
        self._seconds = seconds
        self._size = size
        self._clock = clock
        self._entries: OrderedDict[Key, _Entry[Value]] = OrderedDict()

    async def get(self, key: Key, *, newer_than: float | None = None) -> Value:
        """The value, loaded anew when it is older than `newer_than` seconds (None: those of the cache)."""
        age = self._seconds if newer_than is None else newer_than
        entry = self._entries.get(key)
        if entry is None or self._clock() - entry.start >= age:
            entry = self._start(key)
        self._entries.move_to_end(key)
        # Shielded: who gives up does not take the others' answer away.
        return await asyncio.shield(entry.task)

    def _start(self, key: Key) -> _Entry[Value]:
        entry = _Entry(asyncio.ensure_future(self._run(key)), self._clock())
        self._entries[key] = entry
        entry.task.add_done_callback(lambda task: self._drop_failure(key, entry))
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)
        return entry

    async def _run(self, key: Key) -> Value:
        return await self._load(key)

    def _drop_failure(self, key: Key, entry: _Entry[Value]) -> None:
        failed = entry.task.cancelled() or entry.task.exception() is not None
        if failed and self._entries.get(key) is entry:
            del self._entries[key]


class Pace:
    """Lets something happen at most once in so many seconds."""

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._last = -math.inf

    def may_run(self) -> bool:
        """True for the first who asks in each span."""
        now = self._clock()
        if now - self._last < self._seconds:
            return False
        self._last = now
        return True
