"""Leaves a reranker alone that is away: no context waits for it in vain."""

import time
from collections.abc import Sequence

from ricordo_server.domain.ports import Reranker, RerankerPausedError, RerankError
from ricordo_server.domain.timed_cache import Clock, Pace

# In a row: one slow answer is none of a reranker that is away.
FAILURES_TO_OPEN = 3
TRIAL_SECONDS = 10.0


class CircuitBreaker:
    """A reranker in front of another. Open, it fails at once, but for one call in `TRIAL_SECONDS` that tries."""

    def __init__(self, inner: Reranker, *, timeout: float, clock: Clock = time.monotonic) -> None:
        """`timeout` is the inner one's, in seconds."""
        self.name = inner.name
        self.max_documents = inner.max_documents
        self._inner = inner
        self._patience = timeout / 2
        self._clock = clock
        self._trials = Pace(TRIAL_SECONDS, clock)
        self._failures = 0

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """As `Reranker.rerank`; RerankerPausedError while the circuit is open."""
        if self._failures >= FAILURES_TO_OPEN and not self._trials.may_run():
            raise RerankerPausedError(
                f"the reranker failed {self._failures} times in a row: it is left alone"
            )
        start = self._clock()
        try:
            scores = await self._inner.rerank(query, texts)
        except BaseException as error:  # a caller that gives up cancels
            self._count(error, self._clock() - start)
            raise
        self._failures = 0
        return scores

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _count(self, error: BaseException, seconds: float) -> None:
        """Not what lies in the texts, nor a caller that has next to no time: that would cost others their order."""
        is_outage = error.is_outage if isinstance(error, RerankError) else seconds >= self._patience
        if is_outage:
            self._failures += 1
            if self._failures == FAILURES_TO_OPEN:
                self._trials.may_run()  # the first trial is a pause away
