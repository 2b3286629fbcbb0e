"""Calls of several tenants on one event loop: long work is done in slices, and gives way to others' calls."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from ricordo_server.domain.fairness import FairSemaphore

T = TypeVar("T")

# From how many items on a call waits for a turn, and how many such calls run at a time.
MANY = 100
LONG_CALLS = 8
# How long a long list is worked on before other calls get on, in seconds.
SLICE = 0.0003
# How long a call works on lists until it is no longer short, in seconds.
SHORT = 0.01
# How long after a short call others still give way, in seconds: an agent's next follows at once.
GRACE = 0.005
# After how long of a rest it is asked again whether others are there, in seconds.
LONGEST_REST = 0.005


@dataclass
class _Line:
    """What of one tenant's long work waits to go on, and until when it rests."""

    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    rest_until: float = 0.0


class SharedLoop:
    """The calls that run on one event loop.

    A call is short until it has worked on lists for `SHORT` seconds. The long calls of a tenant go on slice by slice,
    in turn; beside a tenant that asks for less they rest as long as they have worked. So bulk work gets half of the
    time at most while others need it, and all of it otherwise; and the more a tenant asks for, the fewer give way.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running: Counter[Hashable] = Counter()
        self._short: Counter[Hashable] = Counter()
        self._left: dict[Hashable, float] = {}
        self._lines: dict[Hashable, _Line] = {}
        self._turns = FairSemaphore(LONG_CALLS, clock=clock)

    @contextmanager
    def entered(self, tenant: Hashable) -> Iterator["RunningCall"]:
        """A call of the tenant, `current_call` for the block."""
        call = RunningCall(tenant, self)
        before = current_call.set(call)
        self._running += Counter({tenant: 1})
        self._short += Counter({tenant: 1})
        try:
            yield call
        finally:
            current_call.reset(before)
            if not call.is_long:
                self._left = {**self._recent(), tenant: self._clock()}
            self.lengthen(call)
            self._running -= Counter({tenant: 1})

    @asynccontextmanager
    async def in_turn(self, tenant: Hashable, items: int) -> AsyncIterator[None]:
        """Around a call that is about so many items: with `MANY` it waits until few others like it run.

        What they hold in memory stays small that way, and the pauses of the garbage collector short. To be entered
        before anything else that is waited for, a connection above all: whoever waits here holds nothing.
        """
        async with self._turns.held(tenant) if items >= MANY else nullcontext():
            yield

    def lengthen(self, call: "RunningCall") -> None:
        """It is short no longer."""
        if not call.is_long:
            call.is_long = True
            self._short -= Counter({call.tenant: 1})

    def has_company(self, tenant: Hashable) -> bool:
        """Whether another tenant has fewer calls than this one, or as many with a short one among them."""
        own = self._running[tenant]
        return any(
            self._running[other] < own or (self._running[other] == own and other in self._short)
            for other in self._running.keys() | self._recent().keys()
            if other != tenant
        )

    def _recent(self) -> dict[Hashable, float]:
        """Whose short calls ended a moment ago."""
        since = self._clock() - GRACE
        return {tenant: left for tenant, left in self._left.items() if left > since}

    async def give_way(self, tenant: Hashable, worked: float) -> None:
        """Waits for a place in the tenant's line, which rests after `worked` seconds if there is company."""
        line = self._lines.setdefault(tenant, _Line())
        line.rest_until = max(line.rest_until, self._clock()) + worked
        loop = asyncio.get_running_loop()
        place = loop.create_future()
        line.waiting.append(place)
        if len(line.waiting) == 1:
            loop.call_soon(self._serve, tenant)
        await place

    def _serve(self, tenant: Hashable) -> None:
        """Lets the first go on, unless the tenant rests; the next follows in the loop's next round."""
        line, loop = self._lines[tenant], asyncio.get_running_loop()
        rest = line.rest_until - self._clock()
        if rest > 0 and self.has_company(tenant):
            loop.call_later(min(rest, LONGEST_REST), self._serve, tenant)
            return
        line.rest_until = 0.0  # without company nothing is owed
        place = line.waiting.popleft()
        if not place.done():
            place.set_result(None)
        if line.waiting:
            loop.call_soon(self._serve, tenant)
        else:
            del self._lines[tenant]


@dataclass(eq=False)
class RunningCall:
    """A call of a tenant, while it runs. `worked` is the time that it has spent on lists, in seconds."""

    tenant: Hashable
    loop: SharedLoop
    worked: float = 0.0
    is_long: bool = False

    @property
    def has_company(self) -> bool:
        return self.loop.has_company(self.tenant)

    async def give_way(self, worked: float) -> None:
        """Lets other calls on, after `worked` seconds more."""
        self.worked += worked
        if self.worked >= SHORT:
            self.loop.lengthen(self)
        await (self.loop.give_way(self.tenant, worked) if self.is_long else asyncio.sleep(0))


# Of the RPC that is answered; None outside any.
current_call: ContextVar[RunningCall | None] = ContextVar("current_call", default=None)


class Slices:
    """Of long work: between its steps other calls get on, whenever it has taken a slice of time."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    async def between(self) -> None:
        """After one step and before the next."""
        worked = time.monotonic() - self._since
        if worked > SLICE:
            call = current_call.get()
            await (asyncio.sleep(0) if call is None else call.give_way(worked))
            self._since = time.monotonic()


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """The items; whenever what is done with them has taken a slice of time, other calls get on in between."""
    slices = Slices()
    for item in items:
        yield item
        await slices.between()
