"""BuildContext with a reranker: what it orders, and what happens without it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc.aio
import pytest

from ricordo.v1 import context_service_pb2 as pb
from ricordo.v1 import context_service_pb2_grpc, memory_service_pb2, memory_service_pb2_grpc, scope_pb2
from ricordo.v1 import memory_pb2 as m
from ricordo_server.config import Settings
from ricordo_server.reranking import RerankSettings
from ricordo_server.server import open_services, serving
from tests.fixtures.fake_reranker import FakeReranker

FACTS = ["tea", "tea.", "tea at four", "tea with Bob and Eve", "tea is green or black, and sometimes white"]
BY_LENGTH = [FACTS[4], FACTS[3], FACTS[2], FACTS[0]]


@pytest.fixture
def fake() -> Iterator[FakeReranker]:
    with FakeReranker() as one:
        yield one


@asynccontextmanager
async def contexts(settings: Settings, **rerank: Any) -> AsyncIterator[Any]:
    """A server with that reranker, and facts of tea."""
    settings = settings.model_copy(update={"rerank": RerankSettings(**rerank)})
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, pool_size=2))
        running = await stack.enter_async_context(serving(settings, services))
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{running.port}"))
        memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
        for fact in FACTS:
            memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=fact, scope=scope_pb2.Scope(user_id="ann"))
            await memories.CreateMemory(memory_service_pb2.CreateMemoryRequest(memory=memory))
        yield context_service_pb2_grpc.ContextServiceStub(channel)


async def build(stub: Any, **fields: Any) -> pb.BuildContextResponse:
    sources = [pb.ContextSourceSpec(source=pb.CONTEXT_SOURCE_SEMANTIC)]
    asked = {"rerank": True, "include_memories": True, "explain": True, **fields}
    answer: pb.BuildContextResponse = await stub.BuildContext(
        pb.BuildContextRequest(query="tea", sources=sources, **asked)
    )
    return answer


def contents(answer: pb.BuildContextResponse) -> list[str]:
    return [chunk.memory.content for chunk in answer.chunks]


async def test_the_reranker_orders_what_is_left_of_near_duplicates(
    settings: Settings, fake: FakeReranker
) -> None:
    async with contexts(settings, base_url=fake.base_url, model="cross") as stub:
        answer = await build(stub)
    assert answer.ranking_strategy == "rerank:cross"
    assert [text.rstrip(".") for text in contents(answer)] == BY_LENGTH
    assert [chunk.rerank_score for chunk in answer.chunks] == [len(text) for text in contents(answer)]
    assert "rerank" in answer.timings
    assert [left.cause for left in answer.left_out] == [pb.LEFT_OUT_CAUSE_DUPLICATE]
    [request] = fake.requests
    assert request["query"] == "tea"
    assert len(request["documents"]) == 4


async def test_the_budget_takes_the_best_by_the_reranker(settings: Settings, fake: FakeReranker) -> None:
    async with contexts(settings, base_url=fake.base_url, model="cross") as stub:
        whole = await build(stub)
        answer = await build(stub, max_tokens=500 + whole.token_count - 1)
    assert contents(answer)[:3] == BY_LENGTH[:3]
    assert {left.cause for left in answer.left_out} == {
        pb.LEFT_OUT_CAUSE_DUPLICATE,
        pb.LEFT_OUT_CAUSE_BUDGET,
    }


async def test_candidates_beyond_its_bound_stay_behind(settings: Settings, fake: FakeReranker) -> None:
    async with contexts(settings, base_url=fake.base_url, model="cross", max_documents=2) as stub:
        answer = await build(stub)
    scored = [chunk.HasField("rerank_score") for chunk in answer.chunks]
    assert scored == [True, True, False, False]
    assert len(answer.chunks) == 4


async def test_it_is_asked_only_when_the_call_says_so(settings: Settings, fake: FakeReranker) -> None:
    async with contexts(settings, base_url=fake.base_url, model="cross") as stub:
        answer = await build(stub, rerank=False)
    assert (answer.ranking_strategy, fake.requests) == ("reciprocal_rank", [])
    assert "rerank" not in answer.timings
    assert not any(chunk.HasField("rerank_score") for chunk in answer.chunks)


async def test_without_one_the_answer_says_so(settings: Settings) -> None:
    async with contexts(settings) as stub:
        answer = await build(stub)
    assert answer.ranking_strategy == "reciprocal_rank;rerank=not_configured"
    assert len(answer.chunks) == 4


async def test_a_failing_one_costs_its_order_alone(settings: Settings, fake: FakeReranker) -> None:
    fake.status = 500
    async with contexts(settings, base_url=fake.base_url, model="cross") as stub:
        plain = await build(stub, rerank=False)
        answer = await build(stub)
    assert answer.ranking_strategy == "reciprocal_rank;rerank=failed"
    assert (answer.text, answer.left_out) == (plain.text, plain.left_out)


async def test_one_that_is_away_is_left_alone(settings: Settings, fake: FakeReranker) -> None:
    fake.status = 503
    async with contexts(settings, base_url=fake.base_url, model="cross") as stub:
        answers = [await build(stub) for _ in range(4)]
    causes = [answer.ranking_strategy.partition("=")[2] for answer in answers]
    assert causes == ["failed", "failed", "failed", "unavailable"]
    assert len(fake.requests) == 3
    assert answers[3].text == answers[0].text


@pytest.mark.parametrize("bounded_by", ["settings", "deadline"])
async def test_a_slow_one_costs_its_order_alone(
    settings: Settings, fake: FakeReranker, bounded_by: str
) -> None:
    fake.silent = True
    timeout = 0.05 if bounded_by == "settings" else 60
    settings = settings.model_copy(update={"max_call_seconds": 60 if bounded_by == "settings" else 4})
    async with contexts(settings, base_url=fake.base_url, model="cross", timeout=timeout) as stub:
        answer = await build(stub)
    assert answer.ranking_strategy == "reciprocal_rank;rerank=timeout"
    assert len(answer.chunks) == 4


async def test_nothing_found_asks_nobody(settings: Settings, fake: FakeReranker) -> None:
    async with contexts(settings, base_url=fake.base_url, model="cross") as stub:
        scope = scope_pb2.ScopeFilter(matching=scope_pb2.Scope(user_id="nobody"))
        answer = await build(stub, scope=scope)
    assert (answer.ranking_strategy, fake.requests) == ("reciprocal_rank", [])
