"""Who is next when several tenants want one thing: the token bucket and the fair semaphore."""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager

# How far from one another those who are refused are told to return.
SECONDS_AHEAD = 1.0
# How long a tenant counts as here after its last call, in seconds: an agent thinks between two.
MOMENT = 1.0


class TokenBucket:
    """Lets `rate` calls a second pass, and `burst` at once after a quiet while: those of a second, at least one."""

    def __init__(self, rate: float, now: float, burst: float | None = None) -> None:
        self.rate = rate
        self._capacity = max(rate if burst is None else burst, 1.0)
        self._tokens = self._capacity
        self._time = now
        self._told = now

    def take(self, now: float) -> float:
        """Takes a token (0.0), or answers the seconds until there is one. Times are of one clock, in seconds.

        Those who come too early are told one token after the other, up to a second ahead: told the same, they would
        all return at once for the one token, and to refuse them costs more than the rate saves.
        """
        self._tokens = min(self._capacity, self._tokens + (now - self._time) * self.rate)
        self._time = now
        if self._tokens >= 1.0:
            self._tokens -= 1.0
            return 0.0
        next_token = now + (1.0 - self._tokens) / self.rate
        self._told = max(self._told + 1.0 / self.rate, next_token)
        if self._told > next_token + SECONDS_AHEAD:
            self._told = next_token
        return self._told - now


class TokenBuckets:
    """A bucket for each key. Beyond `size` keys the one that was asked about least recently is forgotten."""

    def __init__(
        self, rate: float, burst: float, *, size: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate = rate
        self._burst = burst
        self._size = self._free = size
        self._clock = clock
        self._buckets: OrderedDict[Hashable, TokenBucket] = OrderedDict()

    def take(self, key: Hashable) -> float:
        """As `TokenBucket.take`."""
        now = self._clock()
        if key not in self._buckets:
            self._buckets[key] = TokenBucket(self.rate, now, self._burst)
            if len(self._buckets) > self._size:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return self._buckets[key].take(now)


class FairSemaphore:
    """At most `size` holders at a time. Of those who wait, the tenant that holds least is next, then the longest out.

    A tenant gets as much as it would if two more were here: alone a third, beside one other a quarter. So whoever
    comes next need not wait for a holder to end, however long that takes. Here is who holds, waits, or did so a
    moment ago: between the calls of one tenant another does not spread. Belongs to one event loop.
    """

    def __init__(self, size: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = self._free = size
        self._clock = clock
        self._held: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self._left: OrderedDict[Hashable, float] = OrderedDict()

    @asynccontextmanager
    async def held(self, tenant: Hashable) -> AsyncIterator[None]:
        """Waits for its turn; a wait that is cancelled leaves the queue."""
        await self._acquire(tenant)
        try:
            yield
        finally:
            self._release(tenant)

    async def _acquire(self, tenant: Hashable) -> None:
        if tenant not in self._waiting and self._may_take(tenant):
            self._grant(tenant)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._release(tenant)  # granted at the same moment
            raise

    def _grant(self, tenant: Hashable) -> None:
        self._free -= 1
        self._held[tenant] = self._held_by(tenant) + 1

    def _release(self, tenant: Hashable) -> None:
        self._free += 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
            self._left[tenant] = self._clock()
            self._left.move_to_end(tenant)
        while self._waiting and self._may_take(least := min(self._waiting, key=self._held_by)):
            self._serve(least)

    def _may_take(self, tenant: Hashable) -> bool:
        return self._free > 0 and self._held_by(tenant) < self._share(tenant)

    def _share(self, tenant: Hashable) -> int:
        """At least one."""
        while self._left and next(iter(self._left.values())) < self._clock() - MOMENT:
            self._left.popitem(last=False)
        here = {tenant} | self._held.keys() | self._waiting.keys() | self._left.keys()
        return math.ceil(self._size / (len(here) + 2))

    def _held_by(self, tenant: Hashable) -> int:
        return self._held.get(tenant, 0)

    def _serve(self, tenant: Hashable) -> None:
        """The tenant goes to the end of the line, which decides between equals. Who has given up is passed over."""
        line = self._waiting.pop(tenant)
        place = line.popleft()
        if line:
            self._waiting[tenant] = line
        if not place.cancelled():
            self._grant(tenant)
            place.set_result(None)
