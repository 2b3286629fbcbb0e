"""Mongo-style filters select what a plain-Python reading of them selects, in lists and in both legs of the search."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext
from ricordo.filters import MEMORY_FIELDS, Filter, parse
from ricordo.models import MemoryKind, NewMemory, Scope
from ricordo.models.filter import AllOf, AnyOf, Negated
from tests.proof.conftest import Tally
from tests.unit.mongo_oracle import conditions, documents, holds

POPULATIONS, DOCUMENTS, CONDITIONS = 10, 40, 500
AT_ONCE = 8
MAX_DEPTH = 8  # of the contract: a deeper filter is refused


def draw(strategy: st.SearchStrategy[Any], count: int, number: int) -> list[Any]:
    """Values of a strategy, the same for the same number."""
    drawn: list[Any] = []

    @seed(number)
    @settings(
        max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def collect(value: Any) -> None:
        drawn.append(value)

    collect()
    return drawn


def depth(node: Filter) -> int:
    match node:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            return 1 + max(map(depth, parts))
        case Negated(part=part):
            return 1 + depth(part)
    return 1


def is_accepted(condition: Any) -> bool:
    tree = parse(condition, MEMORY_FIELDS)
    return tree is not None and depth(tree) <= MAX_DEPTH


@pytest.fixture
async def memory(service_target: str, token: str) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(service_target, token=token) as one:
        yield one.bind(MemoryRequestContext(user_id="ada"))


async def write(target: str, token: str, written: dict[str, Any]) -> None:
    """One episode for each document, by its name."""
    episodes = [
        NewMemory(
            kind=MemoryKind.EPISODIC, content="tea", title=name, scope=Scope(user_id="ada"), metadata=document
        )
        for name, document in written.items()
    ]
    async with AsyncClient(target, token=token) as client:
        assert all(result.memory for result in await client.memories.batch_create(episodes))


async def selected(memory: AsyncMemory, condition: Any) -> list[set[str]]:
    """The names that the list, the text leg and the semantic leg find."""
    listed = await memory.list_episodes(limit=200, metadata_filter=condition)
    found = [{entry["title"] for entry in listed}]
    for mode in ("text", "semantic"):
        chunks = await memory.search_episodes("tea", top_k=200, mode=mode, metadata_filter=condition)
        found.append({chunk.metadata["title"] for chunk in chunks if chunk.metadata})
    return found


@pytest.mark.parametrize("number", range(POPULATIONS))
async def test_filters_select_what_the_oracle_selects(
    memory: AsyncMemory, service_target: str, token: str, tally: Tally, number: int
) -> None:
    written = {str(at): document for at, document in enumerate(draw(documents, DOCUMENTS, number))}
    await write(service_target, token, written)
    asked = draw(conditions().filter(is_accepted), CONDITIONS, number)
    for start in range(0, len(asked), AT_ONCE):
        some = asked[start : start + AT_ONCE]
        for condition, found in zip(
            some, await asyncio.gather(*(selected(memory, one) for one in some)), strict=True
        ):
            expected = {name for name, document in written.items() if holds(condition, document)}
            tally.count(found == [expected] * 3, condition)
    assert not tally.failures
