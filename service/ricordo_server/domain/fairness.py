"""Who is next when several tenants want one thing: the token bucket and the fair semaphore."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from uuid import UUID

# For queues that no principal is passed to; None outside any project.
current_tenant: ContextVar[UUID | None] = ContextVar("current_tenant", default=None)


class TokenBucket:
    """Lets `rate` calls a second pass, and as many at once after a quiet second; at least one."""

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._capacity = max(rate, 1.0)
        self._tokens = self._capacity
        self._time = now

    def take(self, now: float) -> float:
        """Takes a token (0.0), or answers the seconds until there is one. Times are of one clock, in seconds."""
        self._tokens = min(self._capacity, self._tokens + (now - self._time) * self.rate)
        self._time = now
        if self._tokens >= 1.0:
            self._tokens -= 1.0
            return 0.0
        return (1.0 - self._tokens) / self.rate


class FairSemaphore:
    """At most `size` holders at a time. Of those who wait, the tenant that holds least is next, then the longest out.

    Belongs to one event loop.
    """

    def __init__(self, size: int) -> None:
        self._free = size
        self._held: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def held(self, tenant: Hashable) -> AsyncIterator[None]:
        """Waits for its turn; a wait that is cancelled leaves the queue."""
        await self._acquire(tenant)
        try:
            yield
        finally:
            self._release(tenant)

    async def _acquire(self, tenant: Hashable) -> None:
        if self._free and not self._waiting:
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
        self._held[tenant] = self._held.get(tenant, 0) + 1

    def _release(self, tenant: Hashable) -> None:
        self._free += 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        while self._free and self._waiting:
            self._serve(min(self._waiting, key=lambda each: self._held.get(each, 0)))

    def _serve(self, tenant: Hashable) -> None:
        """The tenant goes to the end of the line, which decides between equals. Who has given up is passed over."""
        line = self._waiting.pop(tenant)
        place = line.popleft()
        if line:
            self._waiting[tenant] = line
        if not place.cancelled():
            self._grant(tenant)
            place.set_result(None)
