"""Tools for agents, on the real server."""

import inspect
from typing import get_type_hints

import pytest

from ricordo import AsyncClient
from ricordo._aio import gather
from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo._async.tools import AsyncTool, entry_tools, memory_tools


@pytest.fixture
async def store(live: AsyncClient) -> AsyncMemoryStore:
    return await live.memory_stores.create("assistant-memory")


def named(tools: list[AsyncTool]) -> dict[str, AsyncTool]:
    return {tool.__name__: tool for tool in tools}


@pytest.fixture
async def facts(store: AsyncMemoryStore) -> dict[str, AsyncTool]:
    return named(memory_tools(store, "ada"))


@pytest.fixture
async def entries(store: AsyncMemoryStore) -> dict[str, AsyncTool]:
    return named(entry_tools(store, "ada"))


async def test_the_tools_have_the_documented_names(store: AsyncMemoryStore) -> None:
    assert list(named(memory_tools(store, "ada"))) == ["remember", "recall", "forget", "list_memories"]
    documented = ["search_memory", "save_memory", "list_memories", "forget_memory"]
    assert list(named(entry_tools(store, "ada"))) == documented


async def test_a_model_can_read_what_a_tool_takes(store: AsyncMemoryStore) -> None:
    """Every argument has a type and a line of its own, and none of them says whose memories."""
    for tool in [*memory_tools(store, "ada"), *entry_tools(store, "ada")]:
        hints = get_type_hints(tool)
        assert "return" in hints
        for name in inspect.signature(tool).parameters:
            assert name in hints
            assert f"{name}:" in (tool.__doc__ or "")
            assert name not in ("actor_id", "actor", "user_id")


async def test_without_a_store_there_are_no_tools() -> None:
    assert memory_tools(None, "ada") == entry_tools(None, "ada") == []


async def test_without_an_actor_there_are_no_tools(store: AsyncMemoryStore) -> None:
    with pytest.raises(ValueError, match="actor_id is required"):
        memory_tools(store, " ")


async def test_a_fact_is_remembered_once_under_its_topic(facts: dict[str, AsyncTool]) -> None:
    for fact in ("Ada drinks\ngreen tea.", "Ada drinks  green tea."):
        assert await facts["remember"](fact, "Food & Drink") == "Remembered under /food-drink.md."
    assert await facts["list_memories"]() == [{"path": "/food-drink.md", "facts": 1}]


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("", "/general.md"),
        (None, "/general.md"),
        ("../..", "/general.md"),
        ("Über uns", "/über-uns.md"),
        ("食べ物", "/食べ物.md"),
    ],
)
async def test_a_topic_of_any_language_is_a_path(
    facts: dict[str, AsyncTool], topic: str | None, path: str
) -> None:
    await facts["remember"]("x", topic)
    assert [entry["path"] for entry in await facts["list_memories"]()] == [path]


async def test_what_is_remembered_is_recalled(facts: dict[str, AsyncTool]) -> None:
    await facts["remember"]("Ada drinks green tea.", "diet")
    await facts["remember"]("Ada rides a bicycle.", "sport")
    [best, *_] = await facts["recall"]("green tea")
    assert (best["path"], best["content"]) == ("/diet.md", "Ada drinks green tea.")


async def test_a_fact_is_forgotten_by_its_whole_line_in_any_case(facts: dict[str, AsyncTool]) -> None:
    for fact in ("Ada drinks green tea.", "Ada drinks green tea. Often."):
        await facts["remember"](fact, "diet")
    assert await facts["forget"]("ada DRINKS green tea.", "diet") == "Forgotten from /diet.md."
    assert await facts["forget"]("ada drinks green tea.", "diet") == "/diet.md does not say that."
    assert await facts["list_memories"]() == [{"path": "/diet.md", "facts": 1}]


async def test_the_last_fact_takes_its_entry_with_it(facts: dict[str, AsyncTool]) -> None:
    await facts["remember"]("x")
    await facts["forget"]("x")
    assert await facts["list_memories"]() == []


async def test_remembering_while_forgetting_loses_nothing(facts: dict[str, AsyncTool]) -> None:
    await facts["remember"]("old")
    await gather(
        [lambda: facts["forget"]("old"), *(lambda fact=f"new {n}": facts["remember"](fact) for n in range(5))]
    )
    [entry] = await facts["list_memories"]()
    assert entry["facts"] == 5


async def test_another_actor_sees_nothing(store: AsyncMemoryStore, facts: dict[str, AsyncTool]) -> None:
    await facts["remember"]("Ada drinks green tea.")
    others = named(memory_tools(store, "bob"))
    assert await others["recall"]("green tea") == []
    assert await others["list_memories"]() == []


async def test_an_entry_is_saved_found_listed_and_forgotten(entries: dict[str, AsyncTool]) -> None:
    await entries["save_memory"]("/diet.md", "Green tea.", "what Ada drinks")
    await entries["save_memory"]("/diet.md", "Black tea.")
    [hit] = await entries["search_memory"]("tea")
    assert hit["content"] == "Black tea."
    assert await entries["list_memories"]() == [{"path": "/diet.md", "description": "what Ada drinks"}]
    assert await entries["forget_memory"]("/diet.md") == "Deleted /diet.md."
    assert await entries["forget_memory"]("/diet.md") == "There is nothing at /diet.md."


async def test_a_path_is_forgotten_in_every_session(
    store: AsyncMemoryStore, entries: dict[str, AsyncTool]
) -> None:
    for session in (None, "s1"):
        await store.add(actor_id="ada", path="/a", content="x", session_id=session)
    await entries["forget_memory"]("/a")
    assert [entry async for entry in store.list(actor_id="ada")] == []
