import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.shared_loop import GRACE, MANY, SHORT, SLICE, SharedLoop, in_slices


class StoppedClock:
    """Whoever rests does so until it is set: no test waits for a real rest."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def loop(clock: StoppedClock) -> SharedLoop:
    return SharedLoop(clock=clock)


class Work:
    """A call of a tenant that has worked at length, and gives way between its steps."""

    def __init__(self, loop: SharedLoop, tenant: str, *, steps: int = 20, each: float = SHORT) -> None:
        self.done = 0
        self.steps = steps
        self.task = asyncio.create_task(self._work(loop, tenant, each))

    async def _work(self, loop: SharedLoop, tenant: str, each: float) -> None:
        with loop.entered(tenant) as call:
            for _ in range(self.steps):
                await call.give_way(each)
                self.done += 1


async def settle() -> None:
    """Longer than any rest is slept through in one go."""
    for _ in range(3):
        await asyncio.sleep(0.006)


@asynccontextmanager
async def working(*works: Work) -> AsyncIterator[None]:
    try:
        await settle()
        yield
    finally:
        for work in works:
            work.task.cancel()
        await asyncio.gather(*(work.task for work in works), return_exceptions=True)


async def test_long_work_rests_beside_a_short_call(loop: SharedLoop) -> None:
    with loop.entered("quiet"):
        work = Work(loop, "noisy")
        async with working(work):
            assert work.done == 0


async def test_it_goes_on_when_it_has_rested_as_long_as_it_worked(
    loop: SharedLoop, clock: StoppedClock
) -> None:
    with loop.entered("quiet"):
        work = Work(loop, "noisy", each=2 * SHORT)
        async with working(work):
            clock.time += 2 * SHORT - 0.001
            await settle()
            assert work.done == 0
            clock.time += 0.002
            await settle()
            assert work.done == 1


async def test_it_goes_on_a_moment_after_the_others_have_gone(loop: SharedLoop, clock: StoppedClock) -> None:
    with loop.entered("quiet"):
        work = Work(loop, "noisy")
        await settle()
    async with working(work):
        assert work.done == 0  # an agent's next call follows at once
        clock.time += GRACE
        await settle()
        assert work.done == work.steps


async def test_alone_nothing_rests(loop: SharedLoop) -> None:
    works = [Work(loop, "noisy") for _ in range(3)]
    async with working(*works):
        assert [work.done for work in works] == [20] * 3


async def test_a_short_call_never_rests(loop: SharedLoop) -> None:
    with loop.entered("quiet"):
        work = Work(loop, "noisy", steps=5, each=SHORT / 10)
        async with working(work):
            assert work.done == work.steps


async def test_a_long_call_does_not_rest_for_whoever_asks_for_more(loop: SharedLoop) -> None:
    with ExitStack() as many:
        for _ in range(2):
            many.enter_context(loop.entered("noisy"))
        work = Work(loop, "quiet")
        async with working(work):
            assert work.done == work.steps


async def test_two_long_calls_do_not_rest_for_each_other(loop: SharedLoop) -> None:
    with loop.entered("one") as one, loop.entered("other") as other:
        assert loop.has_company("one")
        loop.lengthen(one)
        loop.lengthen(other)
        assert not loop.has_company("one")


async def test_an_operator_counts_as_a_tenant(loop: SharedLoop) -> None:
    with loop.entered(None), loop.entered("noisy"):
        assert loop.has_company("noisy")


@given(calls=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4), min_size=1))
def test_nobody_waits_for_nobody(calls: Mapping[str, int]) -> None:
    """Of those who are there some always go on: whoever has fewest calls, all of them long."""
    loop = SharedLoop(clock=StoppedClock())
    with ExitStack() as stack:
        for tenant, number in calls.items():
            for _ in range(number):
                loop.lengthen(stack.enter_context(loop.entered(tenant)))
        least = min(calls.values())
        assert {tenant for tenant in calls if not loop.has_company(tenant)} == {
            tenant for tenant, number in calls.items() if number == least
        }


@given(cancelled=st.sets(st.integers(0, 9)))
def test_who_has_given_up_keeps_nobody(cancelled: set[int]) -> None:
    async def run() -> None:
        loop = SharedLoop(clock=StoppedClock())
        works = [Work(loop, "noisy", steps=3) for _ in range(10)]
        await asyncio.sleep(0)
        for number in cancelled:
            works[number].task.cancel()
        await asyncio.gather(*(work.task for work in works), return_exceptions=True)
        assert [work.done == 3 for work in works] == [number not in cancelled for number in range(10)]

    asyncio.run(run())


async def test_of_calls_about_many_items_few_run_at_a_time(loop: SharedLoop) -> None:
    most: Counter[str] = Counter()
    running: Counter[str] = Counter()

    async def call(tenant: str, items: int) -> None:
        async with loop.in_turn(tenant, items):
            running[tenant] += 1
            most[tenant] = max(most[tenant], running[tenant])
            await asyncio.sleep(0)
            running[tenant] -= 1

    await asyncio.gather(
        *(call("many", MANY) for _ in range(50)), *(call("few", MANY - 1) for _ in range(50))
    )
    assert most == {"many": 3, "few": 50}


async def test_a_long_list_lets_others_get_on() -> None:
    done: list[int] = []

    async def work_on(items: range) -> None:
        async for item in in_slices(items):
            done.append(item)
            time.sleep(2 * SLICE)  # noqa: ASYNC251 - what holds up a loop

    await asyncio.gather(work_on(range(10)), work_on(range(10, 13)))
    assert sorted(done) == list(range(13))
    assert done.index(12) < done.index(9)


@given(items=st.lists(st.integers()))
async def test_in_slices_the_items_are_the_same(items: list[int]) -> None:
    assert [item async for item in in_slices(items)] == items
