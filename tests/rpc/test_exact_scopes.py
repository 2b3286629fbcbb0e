"""Scopes as memory banks have them: a read of exactly one sees its rows and no others; they are for good."""

import random
from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import scope_pb2, search_pb2
from tests.fixtures.calls import refusal
from tests.fixtures.generation import ANN, World

SEMANTIC = m.MEMORY_KIND_SEMANTIC
Scope = scope_pb2.Scope
KEYS, VALUES = ("user_id", "session_id", "team", "Team", "app"), ("a", "A", "b")


def scope_of(pairs: dict[str, str]) -> Scope:
    labels = {key: value for key, value in pairs.items() if key not in ("user_id", "session_id")}
    return Scope(user_id=pairs.get("user_id", ""), session_id=pairs.get("session_id", ""), labels=labels)


async def create(world: World, content: str, scope: Scope, **fields: Any) -> m.Memory:
    memory = m.Memory(kind=SEMANTIC, content=content, scope=scope, **fields)
    return (await world.memories.CreateMemory(ms.CreateMemoryRequest(memory=memory))).memory


async def listed(world: World, scope: Scope, page_size: int = 1_000) -> list[str]:
    """Every page of what is of exactly this scope."""
    contents: list[str] = []
    request = ms.ListMemoriesRequest(scope=scope_pb2.ScopeFilter(exactly=scope), page_size=page_size)
    while True:
        page = await world.memories.ListMemories(request)
        contents += [memory.content for memory in page.memories]
        if not page.next_page_token:
            return contents
        request.page_token = page.next_page_token


async def found(world: World, scope: Scope) -> list[str]:
    options = search_pb2.SearchOptions(query="green tea", top_k=200)
    request = ms.SearchMemoriesRequest(options=options, scope=scope_pb2.ScopeFilter(exactly=scope))
    return [hit.memory.content for hit in (await world.memories.SearchMemories(request)).hits]


async def test_what_is_read_has_the_same_keys_and_values_and_nothing_more(world: World) -> None:
    chance = random.Random(3)
    scopes = [
        {key: chance.choice(VALUES) for key in chance.sample(KEYS, chance.randrange(1, 4))} for _ in range(60)
    ]
    batch = [
        m.Memory(kind=SEMANTIC, content=f"green tea {number}", scope=scope_of(pairs))
        for number, pairs in enumerate(scopes)
    ]
    await world.memories.BatchCreateMemories(ms.BatchCreateMemoriesRequest(memories=batch, atomic=True))
    for pairs in scopes:
        asked = scope_of(dict(reversed(pairs.items())))
        same = sorted(memory.content for memory, other in zip(batch, scopes, strict=True) if other == pairs)
        assert sorted(await listed(world, asked)) == same
        assert sorted(await found(world, asked)) == same


async def test_everything_of_a_scope_comes_in_pages(world: World) -> None:
    batch = [m.Memory(kind=SEMANTIC, content=str(number), scope=ANN) for number in range(250)]
    await world.memories.BatchCreateMemories(ms.BatchCreateMemoriesRequest(memories=batch))
    assert sorted(await listed(world, ANN, page_size=100), key=int) == [str(number) for number in range(250)]


@pytest.mark.parametrize(
    ("scope", "reason"),
    [
        (
            Scope(user_id="a", session_id="s", labels={str(number): "x" for number in range(4)}),
            "LIMIT_EXCEEDED",
        ),
        (Scope(user_id="a*"), "INVALID_FIELD"),
        (Scope(labels={"team": "*"}), "INVALID_FIELD"),
        (Scope(), "SCOPE_REQUIRED"),
    ],
)
async def test_what_is_no_scope_is_refused_in_reads(world: World, scope: Scope, reason: str) -> None:
    request = ms.ListMemoriesRequest(scope=scope_pb2.ScopeFilter(exactly=scope))
    assert (await refusal(world.memories.ListMemories(request)))[1] == reason


@pytest.mark.parametrize(
    "scope",
    [Scope(user_id="a", labels={str(number): "x" for number in range(5)}), Scope(labels={"team": "a*"})],
)
async def test_what_is_no_scope_is_refused_in_writes(world: World, scope: Scope) -> None:
    memory = m.Memory(kind=SEMANTIC, content="x", scope=scope)
    call = world.memories.CreateMemory(ms.CreateMemoryRequest(memory=memory))
    assert (await refusal(call))[1] in ("LIMIT_EXCEEDED", "INVALID_FIELD")


async def test_five_pairs_are_a_scope(world: World) -> None:
    scope = Scope(user_id="a", session_id="s", labels={"x": "1", "y": "2", "z": "3"})
    await create(world, "green tea", scope)
    assert await found(world, scope) == ["green tea"]


async def test_a_scope_is_for_good(world: World) -> None:
    memory = await create(world, "green tea", ANN)
    change = ms.UpdateMemoryRequest(
        memory=m.Memory(memory_id=memory.memory_id, scope=Scope(user_id="bob")),
        update_mask=FieldMask(paths=["scope"]),
    )
    assert (await refusal(world.memories.UpdateMemory(change)))[1:] == ("INVALID_FIELD", "update_mask")
    assert await listed(world, ANN) == ["green tea"]
