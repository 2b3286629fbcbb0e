"""Gathers concurrent calls into shared batches: while one runs, the next fills."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from ricordo_server.domain.fairness import current_tenant
from ricordo_server.domain.ports import Embedder, EmbeddingError, EmbeddingKind, Vector

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Item:
    text: str
    tenant: UUID | None
    answer: asyncio.Future[Vector | None]


class BatchingEmbedder:
    """An embedder in front of another. Belongs to one event loop.

    A batch starts at once while fewer than `parallel` run; after that, calls wait and share. Queries and
    documents never share a batch, and take turns: a query waits for one batch of documents, not for all. Tenants
    (`current_tenant`) take turns too, text by text, and the last of several batches is left to those who are in none
    that runs: whoever has many texts waiting does not keep the others.
    """

    def __init__(
        self, inner: Embedder, *, batch_size: int = 32, max_waiting: int = 2_048, parallel: int = 1
    ) -> None:
        """`batch_size` texts go to `inner` at once, `max_waiting` texts wait, `parallel` batches run."""
        self.name = inner.name
        self.dimension = inner.dimension
        self.max_tokens = inner.max_tokens
        self._inner = inner
        self._batch_size = batch_size
        self._max_waiting = max_waiting
        self._parallel = parallel
        self._queues: dict[EmbeddingKind, FairQueue] = {kind: FairQueue() for kind in EmbeddingKind}
        self._last_kind = EmbeddingKind.DOCUMENT
        self._runners: set[asyncio.Task[None]] = set()
        self._running: Counter[UUID | None] = Counter()
        self._closed = False

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        """As `Embedder.embed`; also fails, retryable, when too many texts wait already."""
        self._check_room(len(texts))
        loop = asyncio.get_running_loop()
        tenant = current_tenant.get()
        items = [_Item(text, tenant, loop.create_future()) for text in texts]
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
        runners = list(self._runners)
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)
        await self._inner.aclose()

    def _check_room(self, more: int) -> None:
        if self._closed:
            raise EmbeddingError("the embedder is closed", retryable=True)
        tenant = current_tenant.get()
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
                batch = self._queues[kind].take(self._batch_size, besides=self._served())
                tenants = Counter(item.tenant for item in batch)
                self._running += tenants
                try:
                    await self._run(batch, kind)
                finally:
                    self._running -= tenants
        finally:
            # Here and not in a callback: a call that comes between would see a runner that runs no more.
            self._runners.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _choose_kind(self) -> EmbeddingKind | None:
        """The kind whose turn it is, if any of it waits; else the other."""
        kinds = sorted(EmbeddingKind, key=lambda kind: kind is self._last_kind)
        served = self._served()
        chosen = next((kind for kind in kinds if self._queues[kind].tenants() - served), None)
        self._last_kind = chosen or self._last_kind
        return chosen

    def _served(self) -> set[UUID | None]:
        """Whose texts the next batch may not have: on the last one that may run, those who have some in another."""
        is_last = len(self._runners) == self._parallel > 1
        return set(self._running) if is_last else set()

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
        self._lines: dict[UUID | None, deque[_Item]] = {}
        self._last: UUID | None = None

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def tenants(self) -> set[UUID | None]:
        return set(self._lines)

    def count(self, tenant: UUID | None) -> int:
        return len(self._lines.get(tenant, ()))

    def extend(self, items: Sequence[_Item]) -> None:
        for item in items:
            self._lines.setdefault(item.tenant, deque()).append(item)

    def take(self, number: int, *, besides: Collection[UUID | None] = ()) -> list[_Item]:
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
