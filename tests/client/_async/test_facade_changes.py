"""What agent-engine memory lacks: changes, deletions and batches of every kind, and reasons."""

from typing import Any

import pytest

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext, errors
from ricordo.models import MemoryKind, NewMemory, NewTurn, Provenance, Scope, SemanticFact

ADA = MemoryRequestContext(user_id="ada", session_id="s1", agent_id="bot")
EVE = MemoryRequestContext(user_id="eve", session_id="s2")

SAVE: dict[str, dict[str, Any]] = {
    "semantic": {"text": "one", "label": "x"},
    "episode": {"title": "x", "content": "one", "participants": ["a"], "summary": "s", "tags": ["t"]},
    "taxonomic": {"domain": "d", "term": "x", "definition": "one", "related_terms": ["r"]},
    "procedure": {"procedure": "x", "description": "d", "content": "one", "steps": ["s"], "license": "MIT"},
}
TEXT = {"semantic": "text", "episode": "content", "taxonomic": "definition", "procedure": "content"}


async def saved(memory: AsyncMemory, kind: str, **more: Any) -> str:
    result = await getattr(memory, f"save_{kind}")(**SAVE[kind], **more)
    found: str = result.id
    return found


@pytest.fixture
def ada(live_memory: AsyncMemory) -> AsyncMemory:
    return live_memory.bind(ADA)


@pytest.mark.parametrize("kind", SAVE)
async def test_an_update_changes_what_is_given_and_no_more(ada: AsyncMemory, kind: str) -> None:
    memory_id = await saved(ada, kind, metadata={"n": 1})
    update = getattr(ada, f"update_{kind}")
    entry = await update(memory_id, **{TEXT[kind]: "two"}, visibility="org")
    assert (entry[TEXT[kind]], entry["visibility"], entry["revision"]) == ("two", "org", 2)
    assert entry["metadata"] == {"n": 1}
    assert (await update(memory_id, metadata={}))["metadata"] == {}


async def test_details_are_changed_one_by_one(ada: AsyncMemory) -> None:
    episode = await ada.update_episode(await saved(ada, "episode"), summary="new")
    term = await ada.update_taxonomic(await saved(ada, "taxonomic"), related_terms=[])
    procedure = await ada.update_procedure(await saved(ada, "procedure"), steps=[{"do": 1}], tags=["t"])
    assert (episode["summary"], episode["participants"], episode["tags"]) == ("new", ["a"], ["t"])
    assert (term["related_terms"], term["domain"], term["term"]) == ([], "d", "x")
    assert (procedure["steps"], procedure["license"], procedure["tags"]) == ([{"do": 1}], "MIT", ["t"])


@pytest.mark.parametrize("kind", SAVE)
async def test_a_deleted_memory_is_read_no_more(ada: AsyncMemory, kind: str) -> None:
    memory_id = await saved(ada, kind)
    assert (await getattr(ada, f"delete_{kind}")(memory_id, purge=True)).deleted_count == 1
    with pytest.raises(errors.NotFoundError):
        await getattr(ada, f"delete_{kind}")(memory_id)


@pytest.mark.parametrize("kind", SAVE)
@pytest.mark.parametrize("operation", ["update", "delete"])
async def test_another_users_memory_is_not_there(live_memory: AsyncMemory, kind: str, operation: str) -> None:
    """A service may name any user, but a handle of Eve's does not reach Ada's, shared or not."""
    memory_id = await saved(live_memory.bind(ADA), kind, visibility="org")
    arguments: dict[str, Any] = {"metadata": {}} if operation == "update" else {}
    with pytest.raises(errors.NotFoundError, match="eve"):
        await getattr(live_memory.bind(EVE), f"{operation}_{kind}")(memory_id, **arguments)


async def test_a_memory_of_another_kind_is_not_there(ada: AsyncMemory) -> None:
    memory_id = await saved(ada, "semantic")
    with pytest.raises(errors.NotFoundError, match="episodic"):
        await ada.delete_episode(memory_id)
    with pytest.raises(errors.NotFoundError, match="procedural"):
        await ada.update_procedure(memory_id, content="x")


async def test_a_batch_creates_skips_and_refuses_by_label(ada: AsyncMemory) -> None:
    await ada.save_semantic(text="mine", label="taken")
    result = await ada.save_semantic_batch(
        [
            SemanticFact(text="one", label="a", metadata={"n": 1}),
            {"text": "two", "label": "taken"},
            {"text": "three", "label": "b"},
            {"text": "four", "label": "b"},
            {"text": "", "label": "empty"},
        ]
    )
    assert (result.created_count, result.skipped_count) == (2, 2)
    assert (result.skipped_labels, result.has_embeddings) == (["taken", "b"], True)
    assert [(fact.label, fact.error.reason) for fact in result.refused] == [("empty", "INVALID_FIELD")]
    taken, first = await ada.get_semantic("taken"), await ada.get_semantic("a")
    assert taken is not None
    assert first is not None
    assert (taken["text"], first["metadata"], first["id"]) == ("mine", {"n": 1}, result.created_ids[0])


async def test_a_batch_of_more_than_one_request(ada: AsyncMemory) -> None:
    facts = [SemanticFact(text=f"fact {number}", label=str(number)) for number in range(501)]
    result = await ada.save_semantic_batch(facts, user_id="bob")
    assert (result.created_count, len(result.created_ids), result.skipped_labels) == (501, 501, [])
    last = await ada.get_semantic("500", user_id="bob")
    assert last is not None


@pytest.mark.parametrize("fact", [{"text": "x"}, {"text": "x", "label": " "}, {"text": 1, "label": "x"}, 1])
async def test_a_batch_of_something_else_is_refused(ada: AsyncMemory, fact: Any) -> None:
    with pytest.raises(errors.MemoryClientError, match=r"facts\[0\]"):
        await ada.save_semantic_batch([fact])


async def test_turns_in_one_request_for_any_user(live_memory: AsyncMemory) -> None:
    turns = [NewTurn(role="user", content="one"), NewTurn(role="assistant", content="two")]
    recorded = await live_memory.record_turns(turns, user_id="bob", session_id="s9")
    assert [(turn.session_id, turn.turn_seq) for turn in recorded] == [("s9", 1), ("s9", 2)]


async def test_why_names_the_turns_that_a_memory_rests_on(ada: AsyncMemory, live: AsyncClient) -> None:
    turn = await ada.record_turn(role="user", content="I only drink green tea.", metadata={"n": 1})
    learned = NewMemory(
        kind=MemoryKind.SEMANTIC,
        content="Ada drinks green tea.",
        scope=Scope(user_id="ada"),
        provenance=Provenance(session_id="s1", turn_ids=(turn.id, "gone"), extraction_model="a model"),
    )
    memory = await live.memories.create(learned)
    origin = await ada.why(memory.memory_id)
    assert (origin.content, origin.source, origin.session_id, origin.extraction_model) == (
        "Ada drinks green tea.",
        "agent",
        "s1",
        "a model",
    )
    assert [(chunk.id, chunk.source, chunk.content) for chunk in origin.turns] == [
        (turn.id, "stm", "I only drink green tea.")
    ]
    assert origin.missing_turn_ids == ["gone"]


async def test_why_of_what_was_written_by_hand_and_of_what_is_not_ones_own(live_memory: AsyncMemory) -> None:
    ada, eve = live_memory.bind(ADA), live_memory.bind(EVE)
    private, shared = await saved(ada, "semantic"), await saved(ada, "taxonomic")
    assert ((await ada.why(private)).turns, (await ada.why(private)).agent_id) == ([], "bot")
    assert (await eve.why(shared)).content == "one"
    with pytest.raises(errors.NotFoundError):
        await eve.why(private)


async def test_the_turns_behind_a_shared_memory_stay_private(
    live_memory: AsyncMemory, live: AsyncClient
) -> None:
    turn = await live_memory.bind(ADA).record_turn(role="user", content="a secret")
    shared = NewMemory(
        content="shared",
        scope=Scope(user_id="ada"),
        visibility="org",
        provenance=Provenance(turn_ids=(turn.id,)),
    )
    memory = await live.memories.create(shared)
    origin = await live_memory.bind(EVE).why(memory.memory_id)
    assert (origin.turns, origin.missing_turn_ids) == ([], [turn.id])


async def test_a_context_tells_what_it_left_out_and_why(ada: AsyncMemory) -> None:
    for number in range(3):
        await ada.save_semantic(text=f"tea {number} " + "leaves " * 40, label=str(number))
    whole = await ada.build_context("tea", max_tokens=4000, explain=True, include_memories=True)
    small = await ada.build_context("tea", max_tokens=600, explain=True, include_memories=True)
    silent = await ada.build_context("tea")
    assert whole.left_out is not None
    assert small.left_out is not None
    assert whole.selected_memories is not None
    assert len(whole.selected_memories) + len(whole.left_out) == 3
    assert {"budget"} <= {item.cause for item in small.left_out} <= {"budget", "duplicate"}
    assert silent.left_out is None
