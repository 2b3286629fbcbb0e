"""What the facade, a memory bank or a memory store writes, the other two read: they are the same memories."""

import pytest

from ricordo import AsyncClient, AsyncMemory, SourceSpec
from ricordo._async.memory_stores import AsyncMemoryStore

STORE = "tea-shop"
ADA = {"user_id": "ada"}
FACT, NOTE, ENTRY = "Ada drinks green tea.", "Ada orders tea on Mondays.", "Ada pays for tea by invoice."


@pytest.fixture
async def store(live: AsyncClient) -> AsyncMemoryStore:
    return await live.memory_stores.create(STORE)


@pytest.fixture
def memory(live: AsyncClient, store: AsyncMemoryStore) -> AsyncMemory:
    return AsyncMemory(client=live, store=store.id)


@pytest.fixture
async def written(live: AsyncClient, store: AsyncMemoryStore, memory: AsyncMemory) -> set[str]:
    """One text through each surface."""
    await memory.save_semantic(text=FACT, label="drink", user_id="ada")
    await live.memory_banks.memories.create(name=STORE, fact=NOTE, scope=ADA)
    await store.put(actor_id="ada", path="/billing.md", content=ENTRY)
    return {FACT, NOTE, ENTRY}


async def test_the_facade_reads_what_the_others_wrote(memory: AsyncMemory, written: set[str]) -> None:
    found = await memory.search("tea", user_id="ada", sources=["semantic", "document"])
    assert {chunk.content for chunk in found} == written
    [note] = [chunk for chunk in found if chunk.content == NOTE]
    assert "label" not in (note.metadata or {})


async def test_a_context_is_built_of_all(memory: AsyncMemory, written: set[str]) -> None:
    sources = [SourceSpec(source="semantic"), SourceSpec(source="document")]
    built = await memory.build_context_from_sources("tea", sources, user_id="ada")
    assert all(text in built.formatted_context for text in written)


async def test_a_memory_bank_reads_what_the_others_wrote(live: AsyncClient, written: set[str]) -> None:
    by_meaning = live.memory_banks.memories.retrieve(
        name=STORE, scope=ADA, similarity_search_params={"search_query": "tea", "top_k": 10}
    )
    everything = live.memory_banks.memories.retrieve(name=STORE, scope=ADA)
    for found in (await by_meaning, await everything):
        assert {each.memory.fact async for each in found} == written


async def test_a_memory_store_reads_what_the_others_wrote(store: AsyncMemoryStore, written: set[str]) -> None:
    listed = {entry.content: entry async for entry in store.list(actor_id="ada", kinds=())}
    hits = await store.search(actor_id="ada", query="tea", kinds=())
    assert listed.keys() == {hit.memory.content for hit in hits} == written
    assert (listed[FACT].kind, listed[FACT].path) == ("semantic", "drink")


async def test_a_memory_store_alone_has_its_entries(store: AsyncMemoryStore, written: set[str]) -> None:
    assert [entry.content async for entry in store.list(actor_id="ada")] == [ENTRY]


async def test_a_change_by_one_is_a_change_for_all(
    live: AsyncClient, store: AsyncMemoryStore, memory: AsyncMemory, written: set[str]
) -> None:
    [entry] = [entry async for entry in store.list(actor_id="ada")]
    await entry.update(content="Ada pays in cash.")
    [chunk] = await memory.search("cash", user_id="ada", sources=["document"])
    assert chunk.content == "Ada pays in cash."
    name = f"memoryBanks/{STORE}/memories/{entry.id}"
    changed = await live.memory_banks.memories.get(name=name)
    assert changed.fact == "Ada pays in cash."
    await live.memory_banks.memories.delete(name=name)
    assert [entry async for entry in store.list(actor_id="ada")] == []


async def test_nobody_else_s_is_read_by_any(
    live: AsyncClient, store: AsyncMemoryStore, memory: AsyncMemory, written: set[str]
) -> None:
    assert await memory.search("tea", user_id="eve", sources=["semantic", "document"]) == []
    found = await live.memory_banks.memories.retrieve(name=STORE, scope={"user_id": "eve"})
    assert [each async for each in found] == []
    assert await store.search(actor_id="eve", query="tea", kinds=()) == []
