"""Each operation that agent-engine memory documents, as its users call it, against the real server."""

from typing import Any

import pytest

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext, ambient_context, errors
from ricordo.agent_engine import FormatStyle, MemorySource, RetrievalMode, SearchSource, SourceSpec
from ricordo.filters import field
from ricordo.models import MemoryChunk, ProjectChanges

ADA = MemoryRequestContext(user_id="ada", session_id="thread-1")
OWN: dict[str, Any] = {
    "role": "mine",
    "session_id": "mine too",
    "Tier": 1,
    "$foo": [1, 2.0],
    "a.b.c": None,
    "": True,
}


def slot(chunk: MemoryChunk) -> Any:
    assert chunk.metadata is not None
    return chunk.metadata.get("metadata")


@pytest.fixture
def ada(live_memory: AsyncMemory) -> AsyncMemory:
    return live_memory.bind(ADA)


async def test_a_round_trip_of_turns_and_context(ada: AsyncMemory) -> None:
    first = await ada.record_turn(role="user", content="I cannot eat peanuts.")
    second = await ada.record_turn(role="assistant", content="Noted, no peanuts.")
    assert (first.session_id, first.turn_seq, second.turn_seq) == ("thread-1", 1, 2)
    context = await ada.build_context(
        query="what can I not eat?", enabled_sources={"stm", "episodic", "semantic"}, max_tokens=2048
    )
    assert "I cannot eat peanuts." in str(context.formatted_context)
    assert context.metadata.memory_counts["stm"] == 2  # type: ignore[index]


async def test_a_turn_with_tools(ada: AsyncMemory) -> None:
    calls = [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Roma"}'}}]
    await ada.record_turn(role="assistant", tool_calls=calls, model_name="a model")
    await ada.record_turn(role="tool", content="rain", tool_call_id="c1", tool_name="weather", is_error=True)
    context = await ada.build_context_from_sources(
        "rain", [SourceSpec(source="stm", mode="text")], include_memories=True
    )
    assert context.selected_memories is not None
    (answer,) = context.selected_memories
    assert answer.metadata is not None
    assert {name: answer.metadata[name] for name in ("role", "tool_name", "tool_call_id", "is_error")} == {
        "role": "tool",
        "tool_name": "weather",
        "tool_call_id": "c1",
        "is_error": True,
    }


async def test_an_idempotency_key_answers_the_first_turn(ada: AsyncMemory) -> None:
    first = await ada.record_turn(role="user", content="once", idempotency_key="k")
    again = await ada.record_turn(role="user", content="once", idempotency_key="k")
    assert again == first


async def test_a_fact_is_saved_read_by_its_label_and_found(ada: AsyncMemory) -> None:
    saved = await ada.save_semantic(text="Ada likes a window seat.", label="seat", metadata={"n": 1})
    fact = await ada.get_semantic("seat")
    assert fact is not None
    assert (fact["id"], fact["label"], fact["text"]) == (saved.id, "seat", "Ada likes a window seat.")
    assert (fact["user_id"], fact["visibility"], fact["source"]) == ("ada", "private", "agent")
    assert (fact["session_id"], fact["metadata"]) == ("thread-1", {"n": 1})
    found = await ada.search("window", sources=["semantic", "episodic"], top_k=5)
    assert [chunk.id for chunk in found] == [saved.id]
    assert await ada.get_semantic("meal") is None


async def test_an_episode(ada: AsyncMemory) -> None:
    saved = await ada.save_episode(
        title="Booking",
        content="Ada booked a flight to Rome.",
        summary="A flight",
        participants=["ada", "bot"],
        tags=["travel"],
    )
    assert (saved.title, saved.has_embedding) == ("Booking", True)
    (entry,) = await ada.list_episodes()
    assert (entry["title"], entry["content"], entry["summary"]) == (
        "Booking",
        "Ada booked a flight to Rome.",
        "A flight",
    )
    assert (entry["participants"], entry["tags"], entry["session_id"]) == (
        ["ada", "bot"],
        ["travel"],
        "thread-1",
    )
    (chunk,) = await ada.search_episodes("flight")
    assert (chunk.id, chunk.source, chunk.content) == (saved.id, "episodic", entry["content"])


async def test_an_episode_is_found_from_any_session_unless_the_call_names_one(
    live_memory: AsyncMemory,
) -> None:
    await live_memory.bind(ADA).save_episode(title="a", content="a flight")
    elsewhere = live_memory.bind(MemoryRequestContext(user_id="ada", session_id="thread-2"))
    assert len(await elsewhere.search_episodes("flight")) == 1
    assert len(await elsewhere.list_episodes()) == 1
    assert await elsewhere.search_episodes("flight", session_id="thread-2") == []
    assert await elsewhere.list_episodes(session_id="thread-2") == []
    assert len(await elsewhere.search("flight", sources="episodic", session_id="thread-1")) == 1


async def test_episodes_are_listed_newest_first_up_to_a_limit(ada: AsyncMemory) -> None:
    for number in range(4):
        await ada.save_episode(title=str(number), content="x")
    assert [entry["title"] for entry in await ada.list_episodes(limit=3)] == ["3", "2", "1"]


async def test_a_term(ada: AsyncMemory) -> None:
    saved = await ada.save_taxonomic(
        domain="law", term="tort", definition="a civil wrong", related_terms=["liability"]
    )
    assert (saved.domain, saved.term) == ("law", "tort")
    await ada.save_taxonomic(domain='the "bar"', term="tort", definition="a cake")
    term = await ada.get_taxonomic_term("law", "tort")
    assert term is not None
    assert (term["definition"], term["related_terms"], term["visibility"]) == (
        "a civil wrong",
        ["liability"],
        "org",
    )
    assert await ada.get_taxonomic_term("law", "Tort") is None
    assert [chunk.content for chunk in await ada.search_taxonomic("wrong", domain="law")] == ["a civil wrong"]
    assert len(await ada.search_taxonomic("wrong")) == 2
    assert await ada.list_domains() == ["law", 'the "bar"']
    assert await ada.list_domains("private") == []


async def test_vocabulary_is_everybodys(live_memory: AsyncMemory) -> None:
    """Domains have no user filter; a private term is still its user's own."""
    ada, eve = live_memory.bind(ADA), live_memory.bind(MemoryRequestContext(user_id="eve"))
    await ada.save_taxonomic(domain="law", term="tort", definition="a wrong")
    await ada.save_taxonomic(domain="diary", term="she", definition="Eve", visibility="private")
    await eve.save_taxonomic(domain="food", term="torte", definition="a cake")
    assert await eve.list_domains() == ["diary", "food", "law"]
    assert await eve.list_domains("org") == ["food", "law"]
    assert await eve.list_domains("readable") == ["food", "law"]
    assert await live_memory.list_domains("private") == ["diary"]
    for visibility in ("org", "readable"):
        term = await live_memory.get_taxonomic_term("law", "tort", user_id="ada", visibility=visibility)
        assert term is not None
        assert term["definition"] == "a wrong"
    assert await eve.get_taxonomic_term("law", "tort") is None
    shared = await eve.get_taxonomic_term("law", "tort", visibility="readable")
    assert shared is not None
    assert await eve.get_taxonomic_term("diary", "she", visibility="readable") is None


async def test_a_procedure(ada: AsyncMemory) -> None:
    steps: list[Any] = [
        {"do": "look up the order", "tools": ["orders"]},
        "pay back",
        '{"not": a step',
        '"quoted"',
    ]
    await ada.save_procedure(
        procedure="refund",
        description="How to pay money back",
        content="Look up the order, then pay it back.",
        steps=steps,
        resources=[{"url": "https://example.org"}],
        allowed_tools=["orders"],
        compatibility="any",
        license="MIT",
        trigger_conditions=["a refund is asked for"],
        tags=["money"],
        extraction_source="a model",
        source_format="markdown",
        source_path="refund.md",
        metadata=OWN,
    )
    procedure = await ada.get_procedure("refund")
    assert procedure is not None
    assert procedure["steps"] == steps
    assert procedure["resources"] == [{"url": "https://example.org"}]
    assert (procedure["allowed_tools"], procedure["license"], procedure["compatibility"]) == (
        ["orders"],
        "MIT",
        "any",
    )
    assert (procedure["extraction_source"], procedure["source_format"], procedure["source_path"]) == (
        "a model",
        "markdown",
        "refund.md",
    )
    (found,) = await ada.discover_procedures("refund", tags=["money"], metadata_filter={"metadata.Tier": 1})
    assert {"id", "timestamp", "procedure", "content", "score", "description", "tags"} <= set(found)
    assert (found["procedure"], found["metadata"], found["steps"]) == ("refund", OWN, steps)
    assert await ada.discover_procedures("refund", tags=["money", "other"]) == []
    assert await ada.discover_procedures("refund", similarity_threshold=0.99) == []


async def test_a_procedure_is_replaced_only_when_asked(ada: AsyncMemory) -> None:
    first = await ada.save_procedure(procedure="p", description="d", content="one")
    with pytest.raises(errors.AlreadyExistsError):
        await ada.save_procedure(procedure="p", description="d", content="two")
    again = await ada.save_procedure(procedure="p", description="d", content="two", update_existing=True)
    assert again.id == first.id
    entry = await ada.get_procedure("p")
    assert entry is not None
    assert entry["content"] == "two"


async def test_a_deleted_procedure_is_read_when_asked(ada: AsyncMemory) -> None:
    saved = await ada.save_procedure(procedure="p", description="d", content="one")
    assert (await ada.delete_procedure(saved.id)).deleted_count == 1
    assert await ada.get_procedure("p") is None
    for visibility in (None, "private"):
        entry = await ada.get_procedure("p", include_deleted=True, visibility=visibility)
        assert entry is not None
        assert entry["deleted_at"] is not None


async def test_metadata_comes_back_in_its_own_slot_for_every_kind(ada: AsyncMemory) -> None:
    scores = {"citation_score": 1, "llm_confidence_score": 0.5, "combined_score": 0.7}
    await ada.save_semantic(text="tea", label="tea", metadata=OWN)
    await ada.save_episode(title="t", content="tea", metadata=OWN | scores)
    await ada.save_taxonomic(domain="d", term="t", definition="tea", metadata=OWN)
    await ada.save_procedure(procedure="p", description="d", content="tea", metadata=OWN)
    await ada.record_turn(role="user", content="tea", metadata=OWN)
    every = ["semantic", "episodic", "taxonomic", "procedural"]
    slots = {chunk.source: slot(chunk) for chunk in await ada.search("tea", sources=every)}
    context = await ada.build_context("tea", enabled_sources={"stm"}, include_memories=True)
    assert context.selected_memories is not None
    assert slots == {source: OWN | (scores if source == "episodic" else {}) for source in every}
    assert [slot(chunk) for chunk in context.selected_memories] == [OWN]
    assert isinstance(slots[MemorySource.SEMANTIC]["$foo"][1], float)


async def test_no_metadata_is_no_slot(ada: AsyncMemory) -> None:
    await ada.save_semantic(text="tea", label="tea", metadata={})
    await ada.record_turn(role="user", content="tea", metadata={})
    (fact,) = await ada.search_semantic("tea")
    context = await ada.build_context("tea", enabled_sources={"stm"}, include_memories=True)
    assert fact.metadata is not None
    assert "metadata" not in fact.metadata
    assert context.selected_memories is not None
    assert "metadata" not in (context.selected_memories[0].metadata or {})


@pytest.mark.parametrize(
    "condition", [{"metadata.Tier": 1}, {"metadata.$foo": [1, 2.0]}, {("metadata", "a.b.c"): None}]
)
async def test_any_key_can_be_filtered(ada: AsyncMemory, condition: dict[Any, Any]) -> None:
    await ada.save_semantic(text="tea", label="a", metadata=OWN)
    await ada.save_semantic(text="tea", label="b", metadata={"a.b.c": 1})
    found = await ada.search_semantic("tea", metadata_filter=condition)
    assert [chunk.metadata and chunk.metadata["label"] for chunk in found] == ["a"]


async def test_each_source_has_its_own_mode_filter_and_number(ada: AsyncMemory) -> None:
    for label, tier in (("a", "gold"), ("b", "gold-tier"), ("c", "Gold")):
        await ada.save_semantic(
            text=f"refund rule {label}", label=label, metadata={"tier": tier, "confidence": 0.9}
        )
    await ada.save_episode(title="t", content="a refund was decided")
    await ada.record_turn(role="user", content="what about the refund?")
    context = await ada.build_context_from_sources(
        query="refund",
        sources=[
            SourceSpec(
                source=MemorySource.SEMANTIC,
                mode=RetrievalMode.HYBRID,
                metadata_filter={"metadata.tier": "gold", "metadata.confidence": {"$gt": 0.8}},
                top_k=20,
            ),
            SourceSpec(source=MemorySource.EPISODIC, mode=RetrievalMode.HYBRID, top_k=5),
            SourceSpec(source=MemorySource.STM, mode=RetrievalMode.TEXT, top_k=10),
        ],
        rerank=True,
        include_memories=True,
    )
    assert context.selected_memories is not None
    assert sorted(chunk.content for chunk in context.selected_memories) == [
        "a refund was decided",
        "refund rule a",
        "what about the refund?",
    ]
    assert context.metadata.ranking_strategy == "reciprocal_rank;rerank=not_configured"
    outcomes = {outcome["source"]: outcome["effective_mode"] for outcome in context.metadata.source_outcomes}
    assert outcomes == {"semantic": "hybrid", "episodic": "hybrid", "stm": "text"}


@pytest.mark.parametrize("call", ["search", "build_context", "discover_procedures"])
async def test_a_bare_name_in_a_filter_lists_what_is_accepted(live_memory: AsyncMemory, call: str) -> None:
    with pytest.raises(ValueError, match=r"accepted: .*metadata\.<key>"):
        await getattr(live_memory, call)("tea", metadata_filter={"tier": "gold"})
    with pytest.raises(ValueError, match=r"accepted: .*metadata\.<key>"):
        await live_memory.build_context_from_sources(
            "tea", [SourceSpec(source="stm", metadata_filter={"tier": 1})], session_id="s"
        )


async def test_a_candidate_number_outside_1_to_200_is_refused() -> None:
    for top_k in (0, 201):
        with pytest.raises(ValueError, match="top_k"):
            SourceSpec(source=SearchSource.SEMANTIC, top_k=top_k)


@pytest.mark.parametrize(
    ("style", "kind"), [(FormatStyle.OPENAI, list), (FormatStyle.CLAUDE, str), (FormatStyle.JINJA2, str)]
)
async def test_format_styles(ada: AsyncMemory, style: FormatStyle, kind: type) -> None:
    await ada.save_semantic(text="Ada likes a window seat.", label="seat")
    context = await ada.build_context("seat", format_style=style)
    assert isinstance(context.formatted_context, kind)
    with pytest.raises(ValueError, match="html"):
        await ada.build_context("seat", format_style="html")


async def test_the_projects_defaults_hold_where_a_call_says_nothing(
    live: AsyncClient, ada: AsyncMemory
) -> None:
    for number in range(25):
        await ada.save_semantic(text=f"Ada has seat {number}{number}.", label=str(number))

    async def build(**arguments: Any) -> tuple[type, int]:
        context = await ada.build_context_from_sources("seat", [SourceSpec(source="semantic", **arguments)])
        return type(context.formatted_context), context.metadata.source_outcomes[0].count

    assert await build() == (str, 20)
    await live.project.update(ProjectChanges(context={"format": "openai", "top_k": 7}))
    assert await build() == (list, 7)
    assert await build(top_k=9) == (list, 9)


async def test_a_template_of_the_project_serves_jinja2(live: AsyncClient, ada: AsyncMemory) -> None:
    await ada.save_semantic(text="Ada likes a window seat.", label="seat")
    template = "{% for chunk in chunks %}* {{ chunk.label }}: {{ chunk.content }}{% endfor %}"
    await live.project.update(ProjectChanges(context={"template": template}))
    context = await ada.build_context("seat", format_style="jinja2")
    assert context.formatted_context == "* seat: Ada likes a window seat."


async def test_the_ambient_context_serves_where_nothing_is_bound(live_memory: AsyncMemory) -> None:
    with ambient_context(ADA):
        await live_memory.record_turn(role="user", content="tea")
        await live_memory.save_semantic(text="tea", label="tea")
        found = await live_memory.search_semantic("tea")
    assert [chunk.metadata and chunk.metadata["user_id"] for chunk in found] == ["ada"]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("save_semantic", {"text": "x", "label": "x"}),
        ("save_semantic_batch", {"facts": [{"text": "x", "label": "x"}]}),
        ("save_taxonomic", {"domain": "d", "term": "t", "definition": "x"}),
        ("save_procedure", {"procedure": "p", "description": "d", "content": "x"}),
        ("save_episode", {"title": "t", "content": "x", "session_id": "s"}),
        ("save_episode", {"title": "t", "content": "x", "user_id": "ada"}),
        ("record_turn", {"role": "user", "content": "x"}),
        ("record_turns", {"turns": []}),
        ("update_semantic", {"memory_id": "m", "text": "x"}),
        ("delete_episode", {"memory_id": "m"}),
        ("search_semantic", {"query": "x", "visibility": "readable"}),
        ("build_context", {"query": "x", "enabled_sources": {"stm"}}),
    ],
)
async def test_a_missing_identity_is_an_error_before_any_request(operation: str, arguments: Any) -> None:
    """Nothing listens there."""
    memory = AsyncMemory("127.0.0.1:1").bind(MemoryRequestContext(user_id="  ", session_id="\t"))
    with pytest.raises(errors.MemoryIdentityError) as refused:
        await getattr(memory, operation)(**arguments)
    assert not isinstance(refused.value, errors.MemoryClientError)
    assert isinstance(refused.value, ValueError)


async def test_a_wrong_port_names_the_target_and_the_remedy() -> None:
    memory = AsyncMemory("127.0.0.1:1")
    with pytest.raises(errors.MemoryConnectionError, match=r"127\.0\.0\.1:1.*is the server running"):
        await memory.search_semantic("x", timeout=2)
    await memory.close()


async def test_a_store_that_is_not_there_is_not_provisioned(service_target: str, token: str) -> None:
    memory = AsyncMemory(service_target, token=token, store="nowhere")
    with pytest.raises(errors.MemoryNotProvisionedError, match="nowhere"):
        await memory.get_semantic("x")
    await memory.close()


async def test_a_built_filter_serves_as_well(ada: AsyncMemory) -> None:
    await ada.save_episode(title="t", content="tea", metadata={"n": 3})
    condition = field("metadata", "n").gt(2) & ~field("metadata", "n").gt(3)
    assert len(await ada.list_episodes(metadata_filter=condition)) == 1
