"""Filters as text on every read that takes one, over a real server."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import grpc
import grpc.aio
import pytest

from ricordo.v1 import (
    context_service_pb2,
    context_service_pb2_grpc,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    metadata_pb2,
    scope_pb2,
    search_pb2,
    session_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
    turn_pb2,
)
from tests.fixtures.calls import refusal

INVALID = grpc.StatusCode.INVALID_ARGUMENT
OPTIONS = search_pb2.SearchOptions(query="tea")


def metadata(colour: str, stars: int) -> dict[str, metadata_pb2.MetadataValue]:
    return {
        "colour": metadata_pb2.MetadataValue(string_value=colour),
        "stars": metadata_pb2.MetadataValue(int64_value=stars),
    }


Read = Callable[..., Awaitable[list[str]]]


@pytest.fixture
async def reads(channel: grpc.aio.Channel) -> list[Read]:
    """Each read, given its filter fields, to the colours that it found; there is a red 1, a red 5 and a green 5."""
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    sessions = session_service_pb2_grpc.SessionServiceStub(channel)
    contexts = context_service_pb2_grpc.ContextServiceStub(channel)
    for number, (colour, stars) in enumerate((("red", 1), ("red", 5), ("green", 5))):
        given = metadata(colour, stars)
        fact = memory_pb2.Memory(
            kind=memory_pb2.MEMORY_KIND_SEMANTIC, content=f"tea {number}", metadata=given
        )
        await memories.CreateMemory(memory_service_pb2.CreateMemoryRequest(memory=fact))
        scope = scope_pb2.Scope(user_id="ann", session_id=f"s{number}")
        session = session_pb2.Session(scope=scope, metadata=given)
        await sessions.CreateSession(session_service_pb2.CreateSessionRequest(session=session))
        turn = turn_pb2.Turn(role="user", content=f"tea {number}", metadata=given)
        await sessions.RecordTurn(session_service_pb2.RecordTurnRequest(scope=scope, turn=turn))

    def colours(items: Iterable[Any]) -> list[str]:
        return sorted(
            f"{item.metadata['colour'].string_value} {item.metadata['stars'].int64_value}" for item in items
        )

    async def list_memories(**fields: Any) -> list[str]:
        answer = await memories.ListMemories(memory_service_pb2.ListMemoriesRequest(**fields))
        return colours(answer.memories)

    async def search_memories(**fields: Any) -> list[str]:
        request = memory_service_pb2.SearchMemoriesRequest(options=OPTIONS, **fields)
        return colours(hit.memory for hit in (await memories.SearchMemories(request)).hits)

    async def list_sessions(**fields: Any) -> list[str]:
        answer = await sessions.ListSessions(session_service_pb2.ListSessionsRequest(**fields))
        return colours(answer.sessions)

    async def list_turns(**fields: Any) -> list[str]:
        return colours((await sessions.ListTurns(session_service_pb2.ListTurnsRequest(**fields))).turns)

    async def search_turns(**fields: Any) -> list[str]:
        request = session_service_pb2.SearchTurnsRequest(options=OPTIONS, **fields)
        return colours(hit.turn for hit in (await sessions.SearchTurns(request)).hits)

    async def build_context(**fields: Any) -> list[str]:
        source = context_service_pb2.ContextSourceSpec(
            source=context_service_pb2.CONTEXT_SOURCE_SEMANTIC, **fields
        )
        request = context_service_pb2.BuildContextRequest(
            query="tea", sources=[source], include_memories=True
        )
        return colours(chunk.memory for chunk in (await contexts.BuildContext(request)).chunks)

    return [list_memories, search_memories, list_sessions, list_turns, search_turns, build_context]


RED = filter_pb2.Filter(
    comparison=filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=["metadata", "colour"]),
        comparator=filter_pb2.COMPARATOR_EQ,
        values=[metadata_pb2.MetadataValue(string_value="red")],
    )
)


async def test_an_expression_holds_on_every_read(reads: list[Read]) -> None:
    for read in reads:
        assert await read(filter_expression='metadata.colour = "red"') == ["red 1", "red 5"], read


async def test_with_a_tree_beside_it_both_hold(reads: list[Read]) -> None:
    for read in reads:
        assert await read(filter=RED, filter_expression="metadata.stars >= 5") == ["red 5"], read


async def test_a_broken_expression_is_refused_on_every_read(reads: list[Read]) -> None:
    for read in reads:
        status, reason, field = await refusal(read(filter_expression="metadata.stars >="))
        assert (status, reason) == (INVALID, "INVALID_FILTER")
        assert field.endswith("filter_expression")
