"""The facade against the real server: the road of an agent."""

import pytest

from ricordo import AsyncMemory, MemoryRequestContext, SourceSpec, errors
from ricordo.models import (
    ContextSource,
    MemoryChunk,
    MemoryKind,
    NewMemory,
    Scope,
    SearchMode,
    TaxonomicDetails,
    Visibility,
)

ADA = MemoryRequestContext(user_id="ada", session_id="s1", agent_id="bot")
EVE = MemoryRequestContext(user_id="eve", session_id="s2")


def contents(chunks: list[MemoryChunk]) -> list[str]:
    return sorted(chunk.content for chunk in chunks)


async def test_a_fact_is_saved_found_and_replaced(live_memory: AsyncMemory) -> None:
    ada = live_memory.bind(ADA)
    first = await ada.save_semantic(text="Ada drinks green tea.", label="drink", metadata={"cups": 3})
    again = await ada.save_semantic(text="Ada drinks black tea.", label="drink", metadata={"cups": 2})
    (chunk,) = await ada.search_semantic("what does Ada drink?")
    assert (first.id, first.has_embedding) == (again.id, True)
    assert (chunk.id, chunk.content) == (first.id, "Ada drinks black tea.")
    assert chunk.metadata is not None
    assert (chunk.metadata["metadata"], chunk.metadata["agent_id"]) == ({"cups": 2}, "bot")


async def test_a_taken_label_without_upsert_is_an_error(live_memory: AsyncMemory) -> None:
    ada = live_memory.bind(ADA)
    await ada.save_semantic(text="tea", label="drink", upsert=False)
    with pytest.raises(errors.AlreadyExistsError):
        await ada.save_semantic(text="coffee", label="drink", upsert=False)


async def test_read_scoping(live_memory: AsyncMemory) -> None:
    await live_memory.bind(ADA).save_semantic(text="tea of Ada", label="a")
    await live_memory.bind(ADA).save_semantic(text="tea for all, by Ada", label="b", visibility="org")
    await live_memory.bind(EVE).save_semantic(text="tea of Eve", label="a")
    user = await live_memory.search_semantic("tea", user_id="ada")
    visibility = await live_memory.search_semantic("tea", visibility="private")
    both = await live_memory.search_semantic("tea", user_id="ada", visibility="org")
    neither = await live_memory.search_semantic("tea")
    assert contents(user) == ["tea for all, by Ada", "tea of Ada"]
    assert contents(visibility) == ["tea of Ada", "tea of Eve"]
    assert contents(both) == ["tea for all, by Ada"]
    assert len(neither) == 3


async def test_search_joins_facts_and_episodes(live_memory: AsyncMemory) -> None:
    await live_memory.bind(ADA).save_semantic(text="Ada drinks green tea", label="drink")
    episode = NewMemory(
        kind=MemoryKind.EPISODIC, content="Ada bought green tea", title="Shopping", scope=Scope(user_id="ada")
    )
    await live_memory._client.memories.create(episode, store=None, timeout=None)
    found = await live_memory.bind(ADA).search("green tea")
    assert {chunk.source for chunk in found} == {"semantic", "episodic"}
    scores = [chunk.similarity_score or 0.0 for chunk in found]
    assert scores == sorted(scores, reverse=True)


async def test_a_domain_holds_for_terms(live_memory: AsyncMemory) -> None:
    for domain in ("law", "law 2"):
        term = NewMemory(
            kind=MemoryKind.TAXONOMIC,
            content=f"a wrong in {domain}",
            visibility=Visibility.ORG,
            details=TaxonomicDetails(domain=domain, term="tort"),
        )
        await live_memory._client.memories.create(term, store=None, timeout=None)
    assert contents(await live_memory.search("wrong", sources="taxonomic", domain="law")) == [
        "a wrong in law"
    ]


async def test_a_context_of_facts(live_memory: AsyncMemory) -> None:
    ada = live_memory.bind(ADA)
    await ada.save_semantic(text="Ada drinks green tea.", label="drink")
    response = await ada.build_context("what to offer?", include_memories=True)
    assert "Ada drinks green tea." in str(response.formatted_context)
    assert response.metadata.memory_counts == {"semantic": 1, "episodic": 0}
    assert response.selected_memories is not None
    assert contents(response.selected_memories) == ["Ada drinks green tea."]


async def test_a_context_of_turns_and_facts(live_memory: AsyncMemory) -> None:
    """The session chooses the turns; facts have none and are there all the same."""
    ada = live_memory.bind(ADA)
    await ada.save_semantic(text="Ada drinks green tea.", label="drink")
    await ada.record_turn(role="user", content="Something to drink, please.")
    await ada.record_turn(role="user", content="Another conversation.", session_id="s9")
    sources = [
        SourceSpec(source=ContextSource.STM, mode=SearchMode.HYBRID),
        SourceSpec(source=ContextSource.SEMANTIC, mode=SearchMode.HYBRID),
    ]
    response = await ada.build_context_from_sources("drink", sources, include_memories=True)
    assert response.selected_memories is not None
    assert contents(response.selected_memories) == ["Ada drinks green tea.", "Something to drink, please."]


@pytest.mark.parametrize(("style", "kind"), [("openai", list), ("claude", str), ("jinja2", str), (None, str)])
async def test_format_styles(live_memory: AsyncMemory, style: str | None, kind: type) -> None:
    ada = live_memory.bind(ADA)
    await ada.save_semantic(text="Ada drinks green tea.", label="drink")
    response = await ada.build_context("tea", format_style=style)
    assert isinstance(response.formatted_context, kind)
    assert "Ada drinks green tea." in str(response.formatted_context)


async def test_a_small_budget_leaves_nothing(live_memory: AsyncMemory) -> None:
    ada = live_memory.bind(ADA)
    await ada.save_semantic(text="Ada drinks green tea.", label="drink")
    response = await ada.build_context("tea", max_tokens=500)
    assert response.metadata.token_count == 0


async def test_an_end_user_cannot_read_another(
    service_target: str, token: str, live_memory: AsyncMemory
) -> None:
    await live_memory.bind(ADA).save_semantic(text="tea of Ada", label="a")
    async with AsyncMemory(service_target, token=f"{token}:eve") as eve:
        assert await eve.search_semantic("tea") == []


async def test_the_project_must_be_that_of_the_credential(service_target: str, token: str) -> None:
    wrong = AsyncMemory(service_target, token=token, project_id="another")
    with pytest.raises(errors.MemoryAuthError):
        await wrong.search_semantic("tea")
    await wrong.close()
