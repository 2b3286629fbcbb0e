import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.fairness import FairSemaphore, TokenBucket


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
