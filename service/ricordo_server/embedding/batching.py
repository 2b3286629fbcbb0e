"""Gathers concurrent calls into shared batches: while one runs, the next fills."""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from ricordo_server.domain.ports import Embedder, EmbeddingError, EmbeddingKind, Vector
from ricordo_server.domain.shared_loop import RunningCall, current_call

_log = logging.getLogger(__name__)

Tenant = Hashable | None


@dataclass(frozen=True, eq=False)
class _Item:
    text: str
    call: RunningCall | None
    answer: asyncio.Future[Vector | None]

    @property
    def tenant(self) -> Tenant:
        return self.call and self.call.tenant


class BatchingEmbedder:
    """An embedder in front of another. Belongs to one event loop.

    A batch starts at once while fewer than `parallel` run; after that, calls wait and share. Queries and
    documents never share a batch, and take turns: a query waits for one batch of documents, not for all. Tenants take
    turns too, text by text, and the last of several batches is left to those who are in none that runs: whoever has
    many texts waiting does not keep the others. Between the texts of a long call others get on (`SharedLoop`).
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        batch_size: int = 32,
        max_waiting: int = 2_048,
        parallel: int = 1,
        works_here: bool = True,
    ) -> None:
        """`batch_size` texts go to `inner` at once, `max_waiting` texts wait, `parallel` batches run.

        `works_here` says that `inner` takes this machine's time: where it waits for another, nobody need give way.
        """
        self.name = inner.name
        self.dimension = inner.dimension
        self.max_tokens = inner.max_tokens
        self._inner = inner
        self._batch_size = batch_size
        self._max_waiting = max_waiting
        self._parallel = parallel
        self._works_here = works_here
        self._queues: dict[EmbeddingKind, FairQueue] = {kind: FairQueue() for kind in EmbeddingKind}
        self._last_kind = EmbeddingKind.DOCUMENT
        self._runners: set[asyncio.Task[None]] = set()
        self._resting: dict[Tenant, asyncio.Task[None]] = {}
        self._running: Counter[Tenant] = Counter()
        self._closed = False

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        """As `Embedder.embed`; also fails, retryable, when too many texts wait already."""
        self._check_room(len(texts))
        loop = asyncio.get_running_loop()
        call = current_call.get()
        items = [_Item(text, call, loop.create_future()) for text in texts]
        self._queues[kind].extend(items)
        self._start_runner()
        try:
            return await asyncio.gather(*(item.answer for item in items))
        finally:
            self._drop(items, kind)

    def split(self, text: str) -> list[str]:
        return self._inner.split(text)

    async def aclose(self) -> None:
        """Fail what waits and what runs, retryable, and close the embedder behind."""
        self._closed = True
        for queue in self._queues.values():
            _fail(queue.take(len(queue)), EmbeddingError("the embedder is closing", retryable=True))
        for task in (tasks := [*self._runners, *self._resting.values()]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._inner.aclose()

    def _check_room(self, more: int) -> None:
        if self._closed:
            raise EmbeddingError("the embedder is closed", retryable=True)
        call = current_call.get()
        tenant = call and call.tenant
        waiting = sum(map(len, self._queues.values()))
        own = sum(queue.count(tenant) for queue in self._queues.values())
        share = self._max_waiting // len(
            set().union({tenant}, *(queue.tenants() for queue in self._queues.values()))
        )
        # One call alone may be larger than the queue: refused now, it would be refused for ever. A queue that others
        # have filled still has room for this tenant's share.
        if own and own + more > share and waiting + more > self._max_waiting:
            raise EmbeddingError(
                f"{waiting} texts wait to be embedded, the limit is {self._max_waiting}", retryable=True
            )

    def _start_runner(self) -> None:
        if len(self._runners) < self._parallel and not self._closed:
            self._runners.add(asyncio.create_task(self._run_batches()))

    async def _run_batches(self) -> None:
        try:
            while kind := self._choose_kind():
                batch = self._queues[kind].take(self._batch_size, besides=self._held_back())
                tenants = Counter(item.tenant for item in batch)
                self._running += tenants
                start = time.monotonic()
                try:
                    await self._run(batch, kind)
                finally:
                    self._running -= tenants
                if self._works_here:
                    self._rest(batch, time.monotonic() - start)
        finally:
            # Here and not in a callback: a call that comes between would see a runner that runs no more.
            self._runners.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _choose_kind(self) -> EmbeddingKind | None:
        """The kind whose turn it is, if any of it waits; else the other."""
        kinds = sorted(EmbeddingKind, key=lambda kind: kind is self._last_kind)
        served = self._held_back()
        chosen = next((kind for kind in kinds if self._queues[kind].tenants() - served), None)
        self._last_kind = chosen or self._last_kind
        return chosen

    def _held_back(self) -> set[Tenant]:
        """Whose texts the next batch may not have: who rests, and on the last one that may run, who has another."""
        is_last = len(self._runners) == self._parallel > 1
        return set(self._resting) | (set(self._running) if is_last else set())

    def _rest(self, batch: Sequence[_Item], worked: float) -> None:
        """Long calls that the batch was for give way, in company; the texts of their tenants wait meanwhile."""
        for call in {item.call for item in batch if item.call}:
            if call.is_long and call.has_company and call.tenant not in self._resting:
                self._resting[call.tenant] = asyncio.create_task(self._stay_away(call, worked))

    async def _stay_away(self, call: RunningCall, worked: float) -> None:
        await call.give_way(worked)
        del self._resting[call.tenant]
        self._start_runner()

    async def _run(self, batch: list[_Item], kind: EmbeddingKind) -> None:
        try:
            vectors = await self._inner.embed([item.text for item in batch], kind)
            answers = list(zip(batch, vectors, strict=True))
        except asyncio.CancelledError:
            _fail(batch, EmbeddingError("the embedder was stopped", retryable=True))
            raise
        except EmbeddingError as error:
            _fail(batch, error)
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the callers of this batch
            # A fault of the model or its library costs the vectors; as anything else it would cost the write too.
            _log.exception("model %s failed", self.name)
            _fail(batch, EmbeddingError(type(error).__name__, retryable=False))
            return
        for item, vector in answers:
            if not item.answer.done():
                item.answer.set_result(vector)

    def _drop(self, items: list[_Item], kind: EmbeddingKind) -> None:
        """After a cancelled or failed call: what of it still waits must not run."""
        left = {item for item in items if not item.answer.done() or item.answer.cancelled()}
        if left:
            self._queues[kind].remove(left)
            for item in left:
                item.answer.cancel()


class FairQueue:
    """What waits, a line for each tenant: they are served in turn, one text at a time, and nobody twice running while
    another waits."""

    def __init__(self) -> None:
        self._lines: dict[Tenant, deque[_Item]] = {}
        self._last: Tenant = None

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def tenants(self) -> set[Tenant]:
        return set(self._lines)

    def count(self, tenant: Tenant) -> int:
        return len(self._lines.get(tenant, ()))

    def extend(self, items: Sequence[_Item]) -> None:
        for item in items:
            self._lines.setdefault(item.tenant, deque()).append(item)

    def take(self, number: int, *, besides: Collection[Tenant] = ()) -> list[_Item]:
        """At most `number` of them, none of the tenants in `besides`."""
        taken: list[_Item] = []
        while len(taken) < number and (tenants := [each for each in self._lines if each not in besides]):
            tenant = self._last = next((each for each in tenants if each != self._last), tenants[0])
            line = self._lines.pop(tenant)
            taken.append(line.popleft())
            if line:
                self._lines[tenant] = line  # to the end: the next is another's turn
        return taken

    def remove(self, items: set[_Item]) -> None:
        for tenant in {item.tenant for item in items} & self.tenants():
            left = deque(item for item in self._lines.pop(tenant) if item not in items)
            if left:
                self._lines[tenant] = left


def _fail(items: Sequence[_Item], error: Exception) -> None:
    for item in items:
        if not item.answer.done():
            item.answer.set_exception(error)
