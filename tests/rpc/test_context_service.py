"""ContextService over a real server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import grpc
import grpc.aio
import pytest

from ricordo.v1 import (
    context_pb2,
    context_service_pb2_grpc,
    filter_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    metadata_pb2,
    scope_pb2,
    search_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
    turn_pb2,
)
from ricordo.v1 import context_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo_server.app.embedders import Embedders
from ricordo_server.config import Settings
from ricordo_server.domain.ports import Embedder, EmbeddingKind, Vector
from ricordo_server.embedding import load_embedder, load_stored_embedder
from ricordo_server.server import open_services, serving
from tests.fixtures.stubs import Contexts

ANN = scope_pb2.Scope(user_id="ann")
CHAT = scope_pb2.Scope(user_id="ann", session_id="s1")


@pytest.fixture
async def contexts(channel: grpc.aio.Channel) -> Contexts:
    """A population: facts, an episode, a procedure, turns of two sessions."""
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    sessions = session_service_pb2_grpc.SessionServiceStub(channel)
    for memory in (
        m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="Ann likes green tea", scope=ANN, key="drink"),
        m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="Ann likes green tea.", scope=ANN),
        m.Memory(
            kind=m.MEMORY_KIND_EPISODIC, title="Tea house", content="Ann went for tea in May", scope=ANN
        ),
        m.Memory(
            kind=m.MEMORY_KIND_PROCEDURAL,
            key="brew tea",
            procedural=m.ProceduralDetails(steps=["Heat the water to 80 degrees", "Steep two minutes"]),
            scope=ANN,
        ),
        m.Memory(
            kind=m.MEMORY_KIND_SEMANTIC, content="Bob likes black tea", scope=scope_pb2.Scope(user_id="bob")
        ),
    ):
        await memories.CreateMemory(memory_service_pb2.CreateMemoryRequest(memory=memory))
    for session, content in (("s1", "Is there any tea left?"), ("s2", "I bought tea yesterday")):
        scope = scope_pb2.Scope(user_id="ann", session_id=session)
        turn = turn_pb2.Turn(role="user", content=content)
        await sessions.RecordTurn(session_service_pb2.RecordTurnRequest(scope=scope, turn=turn))
    return context_service_pb2_grpc.ContextServiceStub(channel)


def matching(scope: scope_pb2.Scope) -> scope_pb2.ScopeFilter:
    return scope_pb2.ScopeFilter(matching=scope)


def spec(source: "pb.ContextSource.ValueType", **fields: Any) -> pb.ContextSourceSpec:
    return pb.ContextSourceSpec(source=source, **fields)


def contents(answer: pb.BuildContextResponse) -> list[str]:
    return [getattr(chunk, chunk.WhichOneof("item")).content.rstrip(".") for chunk in answer.chunks]


async def test_by_default_it_draws_on_episodes_and_facts(contexts: Contexts) -> None:
    request = pb.BuildContextRequest(query="tea", scope=matching(ANN), include_memories=True, explain=True)
    answer = await contexts.BuildContext(request)
    assert set(contents(answer)) == {"Ann likes green tea", "Ann went for tea in May"}
    assert dict(answer.source_counts) == {"episodic": 1, "semantic": 1}
    assert [left.cause for left in answer.left_out] == [pb.LEFT_OUT_CAUSE_DUPLICATE]
    assert "green tea" in answer.text
    assert "Bob" not in answer.text
    assert (answer.ranking_strategy, answer.tokenizer) == ("reciprocal_rank", "o200k_base")
    assert set(answer.timings) == {"embed", "retrieve", "rank", "render"}
    assert 0 < answer.token_count <= 3500


async def test_a_session_picks_the_turns_and_leaves_the_facts(contexts: Contexts) -> None:
    sources = [spec(pb.CONTEXT_SOURCE_TURNS), spec(pb.CONTEXT_SOURCE_SEMANTIC)]
    request = pb.BuildContextRequest(
        query="tea", scope=matching(CHAT), sources=sources, include_memories=True
    )
    found = contents(await contexts.BuildContext(request))
    assert "Is there any tea left?" in found
    assert "I bought tea yesterday" not in found
    assert "Ann likes green tea" in found


async def test_messages_keep_the_roles_of_turns(contexts: Contexts) -> None:
    request = pb.BuildContextRequest(
        query="tea",
        scope=matching(CHAT),
        sources=[spec(pb.CONTEXT_SOURCE_TURNS), spec(pb.CONTEXT_SOURCE_PROCEDURAL)],
        format=context_pb2.CONTEXT_FORMAT_OPENAI,
    )
    answer = await contexts.BuildContext(request)
    assert answer.text == ""
    assert [message.role for message in answer.messages] == ["system", "user"]
    assert "80 degrees" in answer.messages[0].content


async def test_a_filter_holds_for_its_own_source(contexts: Contexts) -> None:
    comparison = filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=["key"]),
        comparator=filter_pb2.COMPARATOR_EQ,
        values=[metadata_pb2.MetadataValue(string_value="drink")],
    )
    sources = [
        spec(pb.CONTEXT_SOURCE_SEMANTIC, filter=filter_pb2.Filter(comparison=comparison)),
        spec(pb.CONTEXT_SOURCE_EPISODIC),
    ]
    request = pb.BuildContextRequest(query="tea", scope=matching(ANN), sources=sources, include_memories=True)
    assert set(contents(await contexts.BuildContext(request))) == {
        "Ann likes green tea",
        "Ann went for tea in May",
    }


async def test_what_does_not_fit_is_left_out_and_said(contexts: Contexts) -> None:
    request = pb.BuildContextRequest(query="tea", scope=matching(ANN), max_tokens=500, explain=True)
    answer = await contexts.BuildContext(request)
    assert (answer.text, answer.token_count) == ("", 0)
    assert {left.cause for left in answer.left_out} == {pb.LEFT_OUT_CAUSE_BUDGET}


class DownEmbedder:
    """A model that cannot be reached."""

    def __init__(self, inner: Embedder) -> None:
        self.name, self.dimension, self.max_tokens = inner.name, inner.dimension, inner.max_tokens
        self.split, self.aclose = inner.split, inner.aclose

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector]:
        await asyncio.sleep(60)
        return []


@pytest.fixture
async def without_model(settings: Settings, contexts: Contexts) -> AsyncIterator[Contexts]:
    """A second server on the same rows whose model hangs."""
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, pool_size=2))
        inner = load_embedder(settings.embedding)
        embedders = Embedders(services.database.pool, DownEmbedder(inner), load_stored_embedder)
        down = replace(services, embedders=embedders, embed_timeout=0.05)
        running = await stack.enter_async_context(serving(settings, down))
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{running.port}"))
        yield context_service_pb2_grpc.ContextServiceStub(channel)


async def test_a_failing_source_does_not_fail_the_call(without_model: Contexts) -> None:
    sources = [
        spec(pb.CONTEXT_SOURCE_EPISODIC, mode=search_pb2.SEARCH_MODE_SEMANTIC),
        spec(pb.CONTEXT_SOURCE_SEMANTIC, mode=search_pb2.SEARCH_MODE_HYBRID),
    ]
    answer = await without_model.BuildContext(
        pb.BuildContextRequest(query="tea", scope=matching(ANN), sources=sources)
    )
    failed, degraded = answer.source_outcomes
    assert (failed.effective_mode, failed.retryable, failed.count) == (0, True, 0)
    assert "EMBEDDER_UNAVAILABLE" in failed.error
    assert (degraded.effective_mode, degraded.error) == (search_pb2.SEARCH_MODE_TEXT, "")
    assert "green tea" in answer.text


async def test_when_every_source_fails_the_call_does(without_model: Contexts) -> None:
    sources = [spec(pb.CONTEXT_SOURCE_SEMANTIC, mode=search_pb2.SEARCH_MODE_SEMANTIC)]
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await without_model.BuildContext(pb.BuildContextRequest(query="tea", sources=sources))
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("request_fields", "code"),
    [
        ({"query": "  "}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"query": "tea", "max_tokens": 0}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"query": "tea", "sources": [spec(pb.CONTEXT_SOURCE_TURNS)] * 2}, grpc.StatusCode.INVALID_ARGUMENT),
        (
            {"query": "tea", "sources": [spec(pb.CONTEXT_SOURCE_UNSPECIFIED)]},
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        (
            {"query": "tea", "sources": [spec(pb.CONTEXT_SOURCE_TURNS, top_k=201)]},
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        ({"query": "tea", "format": 9}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"query": "tea", "store_id": "nowhere"}, grpc.StatusCode.NOT_FOUND),
    ],
)
async def test_bad_input_is_refused(
    contexts: Contexts, request_fields: dict[str, Any], code: grpc.StatusCode
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await contexts.BuildContext(pb.BuildContextRequest(**request_fields))
    assert refused.value.code() is code
