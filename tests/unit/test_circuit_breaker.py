"""A reranker that is away is left alone, and found again."""

import asyncio
from collections.abc import Sequence

import pytest

from ricordo_server.domain.ports import RerankerPausedError, RerankError
from ricordo_server.reranking.circuit_breaker import FAILURES_TO_OPEN, TRIAL_SECONDS, CircuitBreaker

AWAY = RerankError("HTTP 503", is_outage=True)
TIMEOUT = 5.0


class Scripted:
    """A reranker that fails with `failure`, after `seconds` of the clock that it keeps."""

    name, max_documents = "cross", 10

    def __init__(self) -> None:
        self.now = 0.0
        self.failure: BaseException | None = AWAY
        self.seconds = 0.0
        self.calls = 0

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.calls += 1
        self.now += self.seconds
        if self.failure is not None:
            raise self.failure
        return [1.0] * len(texts)

    async def aclose(self) -> None:
        pass


@pytest.fixture
def inner() -> Scripted:
    return Scripted()


@pytest.fixture
def breaker(inner: Scripted) -> CircuitBreaker:
    return CircuitBreaker(inner, timeout=TIMEOUT, clock=lambda: inner.now)


async def ask(breaker: CircuitBreaker, times: int = FAILURES_TO_OPEN) -> None:
    for _ in range(times):
        with pytest.raises((RerankError, TimeoutError, asyncio.CancelledError)):
            await breaker.rerank("q", ["a"])


async def test_after_some_failures_it_is_not_asked(breaker: CircuitBreaker, inner: Scripted) -> None:
    await ask(breaker)
    with pytest.raises(RerankerPausedError):
        await breaker.rerank("q", ["a"])
    assert inner.calls == FAILURES_TO_OPEN


async def test_one_call_a_pause_tries(breaker: CircuitBreaker, inner: Scripted) -> None:
    await ask(breaker)
    for _ in range(2):
        inner.now += TRIAL_SECONDS
        await ask(breaker, times=5)
    assert inner.calls == FAILURES_TO_OPEN + 2


async def test_a_trial_that_succeeds_lets_all_calls_through(breaker: CircuitBreaker, inner: Scripted) -> None:
    await ask(breaker)
    inner.failure = None
    inner.now += TRIAL_SECONDS
    assert [await breaker.rerank("q", ["a"]) for _ in range(3)] == [[1.0]] * 3


async def test_failures_with_a_success_between_them_count_anew(
    breaker: CircuitBreaker, inner: Scripted
) -> None:
    await ask(breaker, FAILURES_TO_OPEN - 1)
    inner.failure = None
    await breaker.rerank("q", ["a"])
    inner.failure = AWAY
    await ask(breaker)
    assert inner.calls == 2 * FAILURES_TO_OPEN


@pytest.mark.parametrize("failure", [TimeoutError(), asyncio.CancelledError()])
async def test_a_wait_in_vain_counts(
    breaker: CircuitBreaker, inner: Scripted, failure: BaseException
) -> None:
    inner.failure, inner.seconds = failure, TIMEOUT / 2
    await ask(breaker)
    with pytest.raises(RerankerPausedError):
        await breaker.rerank("q", ["a"])


@pytest.mark.parametrize("failure", [RerankError("HTTP 422"), asyncio.CancelledError()])
async def test_what_is_a_callers_own_does_not_count(
    breaker: CircuitBreaker, inner: Scripted, failure: BaseException
) -> None:
    """Texts that cannot be scored, and a deadline that leaves no time."""
    inner.failure, inner.seconds = failure, 0.01
    await ask(breaker, 10)
    assert inner.calls == 10
