import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.fairness import MOMENT, SECONDS_AHEAD, FairSemaphore, TokenBucket


@given(
    rate=st.integers(1, 50),
    gaps=st.lists(st.floats(0, 2), min_size=1, max_size=200),
)
def test_a_bucket_never_lets_more_through_than_its_rate_and_one_burst(rate: int, gaps: list[float]) -> None:
    bucket, now, passed = TokenBucket(rate, 0.0), 0.0, 0
    for gap in gaps:
        now += gap
        passed += bucket.take(now) == 0.0
        assert passed <= max(rate, 1) + now * rate + 1e-6


@given(rate=st.floats(0.1, 100), calls=st.integers(1, 300))
def test_after_the_wait_that_it_tells_there_is_a_token(rate: float, calls: int) -> None:
    bucket = TokenBucket(rate, 0.0)
    waits = [bucket.take(0.0) for _ in range(calls)]
    if waits[-1]:
        assert bucket.take(waits[-1] + 1e-6) == 0.0


@given(rate=st.floats(1, 100), calls=st.integers(2, 300))
def test_who_comes_too_early_is_told_a_time_that_few_others_are_told(rate: float, calls: int) -> None:
    bucket = TokenBucket(rate, 0.0)
    waits = [wait for wait in (bucket.take(0.0) for _ in range(calls)) if wait]
    assert all(0 < wait <= 1.0 / rate + SECONDS_AHEAD + 1e-6 for wait in waits)
    rounds = math.ceil(len(waits) / max(1, math.floor(rate * SECONDS_AHEAD)))
    for wait in waits:
        assert sum(abs(wait - other) < 0.5 / rate for other in waits) <= rounds


async def order_of_service(size: int, arrivals: str) -> str:
    """Each letter is a call of the tenant of that name; all arrive at once, and run one after the other."""
    semaphore, served = FairSemaphore(size), []

    async def call(tenant: str) -> None:
        async with semaphore.held(tenant):
            served.append(tenant)
            await asyncio.sleep(0)

    await asyncio.gather(*map(call, arrivals))
    return "".join(served)


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [("aaaaaaab", "aabaaaaa"), ("aaabbb", "aababb"), ("aaabc", "aabca"), ("aaa", "aaa")],
)
async def test_who_holds_least_is_next(arrivals: str, expected: str) -> None:
    assert await order_of_service(1, arrivals) == expected


@given(size=st.integers(1, 5), arrivals=st.text("abc", min_size=1, max_size=40))
def test_everyone_is_served_and_never_more_at_a_time_than_fit(size: int, arrivals: str) -> None:
    async def run() -> int:
        semaphore, running, most = FairSemaphore(size), 0, 0

        async def call(tenant: str) -> None:
            nonlocal running, most
            async with semaphore.held(tenant):
                running += 1
                most = max(most, running)
                await asyncio.sleep(0)
                running -= 1

        await asyncio.gather(*map(call, arrivals))
        return most

    assert asyncio.run(run()) <= size


async def test_a_newcomer_does_not_wait_for_a_long_line() -> None:
    semaphore = FairSemaphore(2)
    served: list[str] = []

    async def call(tenant: str) -> None:
        async with semaphore.held(tenant):
            await asyncio.sleep(0)
            served.append(tenant)

    line = [asyncio.create_task(call("noisy")) for _ in range(50)]
    await asyncio.sleep(0)
    await call("quiet")
    assert len(served) <= 5
    await asyncio.gather(*line)


@given(cancelled=st.lists(st.integers(0, 19), max_size=20), size=st.integers(1, 3))
def test_cancelled_waits_lose_no_place(cancelled: list[int], size: int) -> None:
    async def run() -> int:
        semaphore = FairSemaphore(size)
        served = 0

        async def call(tenant: int) -> None:
            nonlocal served
            async with semaphore.held(tenant % 3):
                await asyncio.sleep(0)
                served += 1

        calls = [asyncio.create_task(call(number)) for number in range(20)]
        await asyncio.sleep(0)
        for number in cancelled:
            calls[number].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*calls, return_exceptions=True)
        before = served
        await asyncio.wait_for(asyncio.gather(*(call(9) for _ in range(size + 1))), 5)
        return served - before

    assert asyncio.run(run()) == size + 1


class Calls:
    """Calls of tenants, one step at a time: each holds its place until it is told to end. Time stands still."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.time = 0.0
        self.semaphore = FairSemaphore(size, clock=lambda: self.time)
        self.waiting: list[str] = []
        self.running: list[tuple[str, asyncio.Event]] = []
        self.let_in: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []

    def held(self, tenant: str) -> int:
        return sum(name == tenant for name, _ in self.running)

    async def arrive(self, tenant: str) -> None:
        self.waiting.append(tenant)
        self._tasks.append(asyncio.create_task(self._call(tenant)))
        await self._settle()

    async def end(self, number: int) -> None:
        """Ends one of the running calls, if there is any."""
        if self.running:
            _, ended = self.running[number % len(self.running)]
            ended.set()
            await self._settle()

    async def end_all(self) -> None:
        while self.running:
            await self.end(0)
        await asyncio.gather(*self._tasks)

    async def _call(self, tenant: str) -> None:
        async with self.semaphore.held(tenant):
            ended = asyncio.Event()
            self.waiting.remove(tenant)
            self.let_in.append(tenant)
            self.running.append((tenant, ended))
            await ended.wait()
            self.running.remove((tenant, ended))

    async def _settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


Step = str | int
STEPS = st.lists(st.sampled_from("abcd") | st.integers(0, 9), max_size=60)


@given(size=st.integers(1, 12), steps=STEPS)
def test_nobody_waits_with_less_than_its_share_while_a_place_is_free(size: int, steps: list[Step]) -> None:
    async def run() -> None:
        calls = Calls(size)
        seen: set[str] = set()
        for step in steps:
            if isinstance(step, str):
                seen.add(step)
                await calls.arrive(step)
            else:
                await calls.end(step)
            free, share = size - len(calls.running), math.ceil(size / (len(seen) + 2))
            assert free >= 0
            assert not free or all(calls.held(tenant) >= share for tenant in calls.waiting)
        await calls.end_all()
        assert not calls.waiting

    asyncio.run(run())


@given(size=st.integers(1, 6), steps=STEPS)
def test_whoever_is_let_in_held_least_of_those_who_wait(size: int, steps: list[Step]) -> None:
    async def run() -> None:
        calls = Calls(size)
        for step in steps:
            if isinstance(step, str):
                await calls.arrive(step)
                continue
            ended = calls.running[step % len(calls.running)][0] if calls.running else ""
            before, waiting = len(calls.let_in), set(calls.waiting)
            held = {tenant: calls.held(tenant) - (tenant == ended) for tenant in waiting}
            await calls.end(step)
            for tenant in calls.let_in[before : before + 1]:
                assert held[tenant] == min(held.values())
        await calls.end_all()

    asyncio.run(run())


@given(arrivals=st.lists(st.sampled_from("abcd"), min_size=2, max_size=40))
def test_nobody_who_waits_is_passed_over_more_than_once_a_round(arrivals: list[str]) -> None:
    """One place, so that only the order counts: between two turns of one tenant everyone else who waits has one."""

    async def run() -> None:
        calls = Calls(1)
        for tenant in arrivals:
            await calls.arrive(tenant)
        passed_over: dict[str, list[str]] = {tenant: [] for tenant in calls.waiting}
        while calls.running:
            await calls.end(0)
            if not calls.running:
                break
            chosen = calls.let_in[-1]
            passed_over[chosen] = []
            for tenant in set(calls.waiting) - {chosen}:
                assert chosen not in passed_over[tenant]
                passed_over[tenant].append(chosen)
        await calls.end_all()

    asyncio.run(run())


@given(size=st.integers(2, 16), line=st.integers(1, 30))
def test_alone_a_tenant_takes_a_third_and_a_newcomer_does_not_wait(size: int, line: int) -> None:
    async def run() -> None:
        calls = Calls(size)
        for _ in range(line):
            await calls.arrive("noisy")
        assert calls.held("noisy") == min(line, math.ceil(size / 3))
        await calls.arrive("quiet")
        assert calls.held("quiet") == 1
        await calls.end_all()

    asyncio.run(run())


@pytest.mark.parametrize(("seconds", "share"), [(0.0, 3), (MOMENT - 0.1, 3), (MOMENT + 0.1, 4)])
async def test_beside_one_who_was_here_a_moment_ago_a_tenant_takes_a_quarter(
    seconds: float, share: int
) -> None:
    calls = Calls(12)
    await calls.arrive("quiet")
    await calls.end(0)
    calls.time = seconds
    for _ in range(20):
        await calls.arrive("noisy")
    assert calls.held("noisy") == share
    await calls.end_all()
