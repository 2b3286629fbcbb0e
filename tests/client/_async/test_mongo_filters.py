"""Mongo-style filters against a plain-Python reading of them, in lists, the text leg and the semantic leg."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext
from ricordo.models import MemoryKind, NewMemory, Scope
from tests.unit.mongo_oracle import conditions, documents, holds

DOCUMENTS, CONDITIONS = 60, 100


def examples(
    strategy: st.SearchStrategy[Any], count: int, *, alike: Callable[[Any], object] = repr, most: int = 1
) -> list[Any]:
    """Values of a strategy, always the same, at most `most` that are `alike`: one server serves them all."""
    chosen: list[Any] = []
    seen: Counter[object] = Counter()
    options = settings(
        max_examples=count * 100,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    def collect(value: Any) -> bool:
        if value not in chosen and seen[alike(value)] < most:
            seen[alike(value)] += 1
            chosen.append(value)
        return len(chosen) >= count

    find(strategy, collect, settings=options, random=random.Random(7))
    return chosen


def selected(condition: Any, written: dict[str, Any]) -> frozenset[str]:
    return frozenset(name for name, document in written.items() if holds(condition, document))


@pytest.fixture
async def stored(live: AsyncClient, live_memory: AsyncMemory) -> tuple[AsyncMemory, dict[str, Any]]:
    written = {str(number): document for number, document in enumerate(examples(documents, DOCUMENTS))}
    episodes = [
        NewMemory(
            kind=MemoryKind.EPISODIC, content="tea", title=name, scope=Scope(user_id="ada"), metadata=document
        )
        for name, document in written.items()
    ]
    assert all(result.memory for result in await live.memories.batch_create(episodes))
    return live_memory.bind(MemoryRequestContext(user_id="ada")), written


async def test_filters_select_what_the_oracle_selects(stored: tuple[AsyncMemory, dict[str, Any]]) -> None:
    memory, written = stored
    for condition in examples(conditions(), CONDITIONS, alike=lambda one: selected(one, written), most=3):
        expected = selected(condition, written)
        listed = await memory.list_episodes(limit=200, metadata_filter=condition)
        assert {entry["title"] for entry in listed} == expected, condition
        for mode in ("text", "semantic"):
            found = await memory.search_episodes("tea", top_k=200, mode=mode, metadata_filter=condition)
            assert {chunk.metadata["title"] for chunk in found if chunk.metadata} == expected, (
                mode,
                condition,
            )


async def test_the_documents_come_back_as_they_were_written(
    stored: tuple[AsyncMemory, dict[str, Any]],
) -> None:
    memory, written = stored
    listed = await memory.list_episodes(limit=200)
    assert {entry["title"]: entry["metadata"] for entry in listed} == written
