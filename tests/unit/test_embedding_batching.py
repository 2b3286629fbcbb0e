import asyncio
from collections.abc import Sequence

import pytest

from ricordo_server.domain.ports import EmbeddingError, EmbeddingKind, Vector
from ricordo_server.domain.shared_loop import RunningCall, SharedLoop, current_call
from ricordo_server.embedding import EmbeddingSettings, load_embedder
from ricordo_server.embedding.batching import BatchingEmbedder

DOCUMENT, QUERY = EmbeddingKind.DOCUMENT, EmbeddingKind.QUERY


class GatedEmbedder:
    """Runs a batch only when the gate is open, and writes down what it was given."""

    name, dimension, max_tokens = "gated", 1, 10

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.running = 0
        self.most_running = 0
        self.closed = False

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        self.batches.append(list(texts))
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await self.gate.wait()
            await settle()  # a real model takes its time
        finally:
            self.running -= 1
        if "broken" in texts:
            raise EmbeddingError("broken", retryable=True)
        return [None if text == "blank" else [float(text)] for text in texts]

    def split(self, text: str) -> list[str]:
        return text.split()

    async def aclose(self) -> None:
        self.closed = True


async def settle() -> None:
    """Let every task that can go on go on."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
async def inner() -> GatedEmbedder:
    return GatedEmbedder()


def start(
    embedder: BatchingEmbedder, *texts: str, kind: EmbeddingKind = DOCUMENT
) -> asyncio.Task[list[Vector | None]]:
    return asyncio.create_task(embedder.embed(texts, kind))


async def test_calls_that_come_while_a_batch_runs_share_the_next_one(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner)
    first = start(embedder, "0")
    await settle()
    others = [start(embedder, str(at)) for at in range(1, 20)]
    await settle()
    assert inner.batches == [["0"]]
    inner.gate.set()
    assert await asyncio.gather(first, *others) == [[[float(at)]] for at in range(20)]
    assert len(inner.batches) == 2


async def test_each_caller_gets_its_own_answers_in_order(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner)
    inner.gate.set()
    one, two = start(embedder, "3", "blank", "1"), start(embedder, "2")
    assert await one == [[3.0], None, [1.0]]
    assert await two == [[2.0]]
    assert await embedder.embed([], DOCUMENT) == []


def enter(tenant: int, loop: SharedLoop | None = None) -> RunningCall:
    """What follows is part of a call of the tenant."""
    call = RunningCall(tenant, loop or SharedLoop())
    current_call.set(call)
    return call


async def test_batches_are_bounded(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner, batch_size=4)
    inner.gate.set()
    assert len(await embedder.embed([str(at) for at in range(10)], DOCUMENT)) == 10
    assert [len(batch) for batch in inner.batches] == [4, 4, 2]


@pytest.mark.parametrize(("tenants", "parallel", "most"), [(1, 1, 1), (1, 3, 2), (2, 3, 2), (3, 3, 3)])
async def test_as_many_batches_run_as_set_and_the_last_is_left_to_those_who_have_none(
    inner: GatedEmbedder, tenants: int, parallel: int, most: int
) -> None:
    embedder = BatchingEmbedder(inner, batch_size=1, parallel=parallel)
    calls = []
    for number in range(9):
        enter(number % tenants)
        calls.append(start(embedder, str(number)))
    await settle()
    inner.gate.set()
    await asyncio.gather(*calls)
    assert inner.most_running == most


async def test_queries_and_documents_take_turns_in_batches_of_their_own(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner, batch_size=2)
    documents = start(embedder, *"012345")
    await settle()
    query = start(embedder, "9", kind=QUERY)
    await settle()
    inner.gate.set()
    await asyncio.gather(documents, query)
    assert inner.batches == [["0", "1"], ["9"], ["2", "3"], ["4", "5"]]


@pytest.mark.parametrize("works_here", [True, False])
async def test_the_texts_of_a_long_call_give_way_where_the_model_works(
    inner: GatedEmbedder, works_here: bool
) -> None:
    loop = SharedLoop(clock=lambda: 0.0)  # whoever rests does so until the other has gone
    embedder = BatchingEmbedder(inner, batch_size=1, works_here=works_here)
    inner.gate.set()
    with loop.entered(1) as long, loop.entered(2):
        loop.lengthen(long)
        current_call.set(long)
        many = start(embedder, *"01")
        enter(2, loop)
        await start(embedder, "7")
        await asyncio.sleep(0.02)
        assert many.done() is not works_here
        assert inner.batches == [["0"], ["7"]] if works_here else [["0"], ["7"], ["1"]]
        await embedder.aclose()
        await asyncio.gather(many, return_exceptions=True)


async def test_a_tenant_that_comes_is_before_the_one_that_was_served_last(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner, batch_size=1)
    enter(1)
    many = start(embedder, *"0123")
    await settle()
    enter(2)
    few = start(embedder, *"67")
    await settle()
    inner.gate.set()
    await asyncio.gather(many, few)
    assert inner.batches == [["0"], ["6"], ["1"], ["7"], ["2"], ["3"]]


async def test_a_cancelled_call_takes_only_its_own_texts_away(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner)
    running = start(embedder, "0")
    await settle()
    gone, stays = start(embedder, "1", "2"), start(embedder, "3")
    await settle()
    gone.cancel()
    await settle()
    inner.gate.set()
    assert await stays == [[3.0]]
    assert await running == [[0.0]]
    assert inner.batches == [["0"], ["3"]]
    assert gone.cancelled()


async def test_cancelling_a_call_whose_batch_runs_leaves_the_others_in_the_batch(
    inner: GatedEmbedder,
) -> None:
    embedder = BatchingEmbedder(inner)
    gone, stays = start(embedder, "1"), start(embedder, "2")
    await settle()
    assert inner.batches == [["1", "2"]]
    gone.cancel()
    await settle()
    inner.gate.set()
    assert await stays == [[2.0]]


async def test_an_error_reaches_only_the_callers_of_its_batch(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner)
    first = start(embedder, "broken", "1")
    await settle()
    second = start(embedder, "2")
    await settle()
    inner.gate.set()
    with pytest.raises(EmbeddingError, match="broken"):
        await first
    assert await second == [[2.0]]


async def test_an_answer_of_the_wrong_length_fails_its_callers_and_not_the_next(inner: GatedEmbedder) -> None:
    class Short(GatedEmbedder):
        async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
            return [] if "short" in texts else [[1.0] for _ in texts]

    embedder = BatchingEmbedder(Short())
    with pytest.raises(EmbeddingError, match="ValueError"):
        await embedder.embed(["short"], DOCUMENT)
    assert await embedder.embed(["1"], DOCUMENT) == [[1.0]]


@pytest.mark.parametrize("fault", [ValueError("x"), RuntimeError("x"), OSError("x"), TypeError("x")])
async def test_any_fault_of_the_model_is_an_embedding_error(
    inner: GatedEmbedder, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Callers catch that one alone, and store the row without vectors."""

    class Faulty(GatedEmbedder):
        async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
            raise fault

    with pytest.raises(EmbeddingError, match=type(fault).__name__) as caught:
        await BatchingEmbedder(Faulty()).embed(["a"], DOCUMENT)
    assert not caught.value.retryable
    assert "model gated failed" in caplog.text


async def test_after_a_failed_batch_the_rest_of_the_call_is_not_run(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner, batch_size=1)
    inner.gate.set()
    with pytest.raises(EmbeddingError):
        await embedder.embed(["broken", "1", "2", "3", "4"], DOCUMENT)
    await settle()
    assert inner.batches == [["broken"], ["1"]]
    assert await embedder.embed(["7"], DOCUMENT) == [[7.0]]


async def test_a_full_queue_refuses_and_recovers(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner, max_waiting=2)
    running = start(embedder, "0")
    await settle()
    waiting = start(embedder, "1", "2")
    await settle()
    with pytest.raises(EmbeddingError) as caught:
        await embedder.embed(["3"], DOCUMENT)
    assert caught.value.retryable
    inner.gate.set()
    await asyncio.gather(running, waiting)
    assert await embedder.embed(["3"], DOCUMENT) == [[3.0]]


async def test_cancelled_texts_make_room_in_the_queue(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner, max_waiting=1)
    running = start(embedder, "0")
    await settle()
    gone = start(embedder, "1")
    await settle()
    gone.cancel()
    await settle()
    fits = start(embedder, "2")
    inner.gate.set()
    assert await fits == [[2.0]]
    await running


async def test_a_call_larger_than_the_queue_is_taken_when_nothing_waits(inner: GatedEmbedder) -> None:
    inner.gate.set()
    assert len(await BatchingEmbedder(inner, max_waiting=2).embed(["1"] * 5, DOCUMENT)) == 5


async def test_a_call_right_after_the_last_answer_is_answered_too(inner: GatedEmbedder) -> None:
    """The runner that ends and the call that comes must not miss each other."""
    embedder = BatchingEmbedder(inner)
    inner.gate.set()
    for at in range(50):
        assert await embedder.embed([str(at)], DOCUMENT) == [[float(at)]]


async def test_closing_fails_what_runs_and_what_waits_and_closes_the_inner_one(inner: GatedEmbedder) -> None:
    embedder = BatchingEmbedder(inner)
    running = start(embedder, "0")
    await settle()
    waiting = start(embedder, "1")
    await settle()
    await embedder.aclose()
    for call in (running, waiting, start(embedder, "2")):
        with pytest.raises(EmbeddingError) as caught:
            await call
        assert caught.value.retryable
    assert inner.closed


async def test_the_loader_gives_a_gathering_embedder() -> None:
    embedder = load_embedder(EmbeddingSettings(provider="hashing"))
    assert isinstance(embedder, BatchingEmbedder)
    assert (embedder.name, embedder.dimension) == ("hashing-64", 64)
    assert embedder.split("one two") == ["one two"]
