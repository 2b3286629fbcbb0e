"""The facade against a scripted server: what it sends for whom, and the shapes it answers."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext, SourceSpec, ambient_context, errors
from ricordo.v1 import context_pb2
from ricordo.v1.memory_pb2 import MEMORY_KIND_EPISODIC
from ricordo.v1.memory_service_pb2 import (
    CreateMemoryResponse,
    MemoryHit,
    PutMemoryResponse,
    SearchMemoriesResponse,
)
from ricordo.v1.session_service_pb2 import RecordTurnResponse
from tests.fixtures.client_samples import (
    NOON,
    wire_context,
    wire_memory,
    wire_report,
    wire_turn,
    wire_who_am_i,
)
from tests.fixtures.fake_service import FakeService, Refusal

ADA = MemoryRequestContext(user_id="ada", session_id="s1", agent_id="bot")


@pytest.fixture
async def memory(fake: FakeService) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(fake.target) as handle:
        yield handle


def sent(fake: FakeService, index: int = -1) -> Any:
    return fake.calls[index].request


def hits(*scores: float, **changes: Any) -> SearchMemoriesResponse:
    found = [MemoryHit(memory=wire_memory(memory_id=str(score), **changes), score=score) for score in scores]
    return SearchMemoriesResponse(hits=found, report=wire_report())


async def test_record_turn_takes_user_session_and_agent_from_bind(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("RecordTurn", RecordTurnResponse(turn=wire_turn(), created=True))
    result = await memory.bind(ADA).record_turn(role="user", content="Hello", metadata={"n": 1})
    assert result.model_dump() == {
        "id": "t1",
        "session_id": "s1",
        "turn_seq": 1,
        "acknowledged": True,
        "has_embedding": False,
    }
    assert (sent(fake).scope.user_id, sent(fake).scope.session_id) == ("ada", "s1")
    assert (sent(fake).turn.agent_id, sent(fake).turn.metadata["n"].int64_value) == ("bot", 1)


async def test_record_turn_without_a_session_is_refused_before_the_request(
    fake: FakeService, memory: AsyncMemory
) -> None:
    with pytest.raises(errors.MemoryIdentityError, match="session_id"):
        await memory.record_turn(role="user", content="Hello", session_id="  ")
    assert fake.calls == []


async def test_record_turn_reads_tool_calls_as_providers_write_them(
    fake: FakeService, memory: AsyncMemory
) -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}},
        {"id": "c2", "name": "book", "input": {"city": "Roma"}},
    ]
    await memory.bind(ADA).record_turn(role="assistant", tool_calls=calls)
    sent_calls = [(call.tool_call_id, call.name, call.arguments_json) for call in sent(fake).turn.tool_calls]
    assert sent_calls == [("c1", "find", '{"q": 1}'), ("c2", "book", '{"city": "Roma"}')]


async def test_bind_leaves_the_handle_as_it_is(memory: AsyncMemory) -> None:
    memory.bind(ADA)
    with pytest.raises(errors.MemoryIdentityError):
        await memory.record_turn(role="user", content="Hello")


async def test_the_call_wins_over_bind_and_bind_over_the_ambient_context(
    fake: FakeService, memory: AsyncMemory
) -> None:
    with ambient_context(MemoryRequestContext(user_id="eve", session_id="s9")):
        await memory.bind(MemoryRequestContext(user_id="ada")).record_turn(role="user", content="Hi")
        await memory.bind(ADA).record_turn(role="user", content="Hi", session_id="s2")
    assert [(call.request.scope.user_id, call.request.scope.session_id) for call in fake.calls] == [
        ("ada", "s9"),
        ("ada", "s2"),
    ]


async def test_save_semantic_upserts_a_private_fact(fake: FakeService, memory: AsyncMemory) -> None:
    fake.answer("PutMemory", PutMemoryResponse(memory=wire_memory(), created=True))
    result = await memory.bind(ADA).save_semantic(text="Ada drinks green tea.", label="drink")
    assert (result.id, result.label, result.has_embedding, result.acknowledged) == ("m1", "drink", True, True)
    written = sent(fake).memory
    assert (written.scope.user_id, written.visibility, written.key) == ("ada", 1, "drink")


async def test_save_semantic_keeps_the_session_in_the_provenance_only(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("PutMemory", PutMemoryResponse(memory=wire_memory()))
    await memory.bind(ADA).save_semantic(text="x", label="drink")
    written = sent(fake).memory
    assert (written.scope.session_id, written.provenance.session_id) == ("", "s1")


async def test_save_semantic_without_upsert_creates(fake: FakeService, memory: AsyncMemory) -> None:
    fake.answer("CreateMemory", Refusal(grpc.StatusCode.ALREADY_EXISTS, reason="KEY_TAKEN"))
    with pytest.raises(errors.AlreadyExistsError):
        await memory.save_semantic(text="x", label="drink", user_id="ada", upsert=False)
    fake.answer("CreateMemory", CreateMemoryResponse(memory=wire_memory()))
    saved = await memory.save_semantic(text="x", label="drink", user_id="ada", upsert=False)
    assert saved.id == "m1"


async def test_save_semantic_without_a_user_is_refused_before_the_request(
    fake: FakeService, memory: AsyncMemory
) -> None:
    with pytest.raises(errors.MemoryIdentityError, match="user_id"):
        await memory.save_semantic(text="x", label="drink")
    assert fake.calls == []


async def test_search_semantic_asks_by_meaning_for_the_users_facts(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("SearchMemories", hits(0.9))
    (chunk,) = await memory.bind(ADA).search_semantic("tea")
    request = sent(fake)
    assert (request.options.mode, request.options.top_k, list(request.kinds)) == (2, 50, [1])
    assert (request.scope.matching.user_id, request.scope.matching.session_id) == ("ada", "")
    assert (chunk.source, chunk.similarity_score, chunk.timestamp) == ("semantic", 0.9, NOON)
    assert chunk.metadata is not None
    assert chunk.metadata["label"] == "drink"
    assert "metadata" not in chunk.metadata


async def test_a_read_of_nobody_in_particular_is_unconstrained(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("SearchMemories", hits())
    await memory.search_semantic("tea")
    assert not sent(fake).HasField("scope")


async def test_reading_org_ignores_the_ambient_user_but_not_the_bound_one(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("SearchMemories", hits(), hits())
    with ambient_context(ADA):
        await memory.search_semantic("tea", visibility="org")
        await memory.bind(ADA).search_semantic("tea", visibility="org")
    assert [call.request.scope.matching.user_id for call in fake.calls] == ["", "ada"]
    assert sent(fake).visibility == 2


async def test_search_merges_facts_and_episodes_by_score(fake: FakeService, memory: AsyncMemory) -> None:
    found = hits(0.7, 0.1), hits(0.9, 0.2, kind=MEMORY_KIND_EPISODIC)
    fake.answer("SearchMemories", *found)
    chunks = await memory.bind(ADA).search("tea", top_k=3)
    assert [chunk.similarity_score for chunk in chunks] == [0.9, 0.7, 0.2]
    assert sorted(call.request.kinds[0] for call in fake.calls) == [1, 2]
    assert {call.request.options.top_k for call in fake.calls} == {3}


async def test_search_takes_the_session_from_the_call_alone_and_for_episodes_only(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("SearchMemories", hits(), hits(), hits())
    await memory.bind(ADA).search("tea", sources="episodic")
    await memory.bind(ADA).search("tea", sources=["episodic", "semantic"], session_id="s2")
    sessions = [call.request.scope.matching.session_id for call in fake.calls]
    assert sessions[0] == ""
    assert sorted(sessions[1:]) == ["", "s2"]


async def test_search_gives_each_source_its_own_conditions(fake: FakeService, memory: AsyncMemory) -> None:
    fake.answer("SearchMemories", hits(), hits())
    await memory.search("x", sources=["taxonomic"], domain='a "law"')
    await memory.search("x", sources=["procedural"], tags=["t"], similarity_threshold=0.5)
    taxonomic, procedural = (call.request for call in fake.calls)
    assert taxonomic.filter.comparison.values[0].string_value == '["a \\"law\\"",'
    assert not taxonomic.options.HasField("min_similarity")
    assert procedural.filter.comparison.path.segments == ["tags"]
    assert procedural.options.min_similarity == 0.5


async def test_a_filter_of_search_holds_for_every_source(fake: FakeService, memory: AsyncMemory) -> None:
    fake.answer("SearchMemories", *[hits()] * 4)
    every = ["semantic", "episodic", "procedural", "taxonomic"]
    await memory.search("x", sources=every, domain="law", tags=["t"], metadata_filter={"metadata.a": 1})
    filters = {call.request.kinds[0]: call.request.filter for call in fake.calls}
    alone, joined = filters[1], filters[4]
    assert alone.comparison.path.segments == ["metadata", "a"]
    assert [part.comparison.path.segments for part in joined.all_of.filters] == [["metadata", "a"], ["key"]]
    assert [part.comparison.path.segments for part in filters[3].all_of.filters][1] == ["tags"]


@pytest.mark.parametrize("condition", [{"domain": "law"}, {"tags": ["t"]}, {"similarity_threshold": 0.5}])
async def test_a_condition_that_no_source_uses_is_refused(
    fake: FakeService, memory: AsyncMemory, condition: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(condition))} is a condition of the source"):
        await memory.search("x", **condition)
    assert fake.calls == []


@pytest.mark.parametrize("sources", ["stm", "dreams", [], ["semantic", "stm"]])
async def test_search_refuses_what_it_cannot_search(
    fake: FakeService, memory: AsyncMemory, sources: str | list[str]
) -> None:
    with pytest.raises(ValueError, match=r"source|turns|dreams"):
        await memory.search("tea", sources=sources)
    assert fake.calls == []


async def test_one_failing_source_fails_the_search(fake: FakeService, memory: AsyncMemory) -> None:
    fake.answer("SearchMemories", hits(0.5), Refusal(grpc.StatusCode.INTERNAL, reason="INTERNAL"))
    with pytest.raises(errors.MemoryServerError):
        await memory.search("tea")


async def test_build_context_asks_episodes_and_facts_by_meaning(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("BuildContext", wire_context())
    response = await memory.bind(ADA).build_context("tea", metadata_filter={"metadata.a": 1})
    request = sent(fake)
    assert [(spec.source, spec.mode, spec.top_k) for spec in request.sources] == [(3, 2, 50), (2, 2, 50)]
    assert all(spec.filter.comparison.path.segments == ["metadata", "a"] for spec in request.sources)
    assert (request.format, request.scope.matching.user_id, request.scope.matching.session_id) == (
        0,
        "ada",
        "",
    )
    assert response.formatted_context == "# What is known"
    assert response.selected_memories is None


async def test_a_context_response_has_the_shape_of_agent_engine_memory(
    fake: FakeService, memory: AsyncMemory
) -> None:
    fake.answer("BuildContext", wire_context())
    response = await memory.bind(ADA).build_context("tea", enabled_sources={"stm"}, include_memories=True)
    assert response.metadata.memory_counts == {"semantic": 1, "stm": 1}
    assert (response.metadata.token_count, response.metadata.timing) == (13, {"embed": 0.25})
    (outcome,) = response.metadata.source_outcomes
    assert (outcome.requested_mode, outcome.effective_mode, outcome.error) == ("semantic", "text", None)
    assert response.selected_memories is not None
    assert [(chunk.source, chunk.id, chunk.similarity_score) for chunk in response.selected_memories] == [
        ("semantic", "m1", 2.5),
        ("stm", "t1", 0.8),
    ]
    assert sent(fake).scope.matching.session_id == "s1"


async def test_rerank_is_passed_on(fake: FakeService, memory: AsyncMemory) -> None:
    fake.answer("BuildContext", wire_context(), wire_context())
    asked = []
    for rerank in (False, True):
        await memory.build_context_from_sources("tea", [SourceSpec(source="semantic")], rerank=rerank)
        asked.append(sent(fake).rerank)
    assert asked == [False, True]


@pytest.mark.parametrize(
    ("style", "wire"), [("OpenAI", 1), ("claude", 2), ("markdown", 3), ("jinja2", 4), (None, 0)]
)
async def test_format_styles(fake: FakeService, memory: AsyncMemory, style: str | None, wire: int) -> None:
    fake.answer("BuildContext", wire_context())
    await memory.build_context("tea", format_style=style)
    assert sent(fake).format == wire


@pytest.mark.parametrize(
    ("wire", "kind"), [("OPENAI", list), ("CLAUDE", str), ("MARKDOWN", str), ("JINJA2", str)]
)
async def test_the_shape_is_that_of_the_format_in_the_answer(
    fake: FakeService, memory: AsyncMemory, wire: str, kind: type
) -> None:
    """The project's default may be any."""
    answer = wire_context()
    answer.format = context_pb2.ContextFormat.Value(f"CONTEXT_FORMAT_{wire}")
    fake.answer("BuildContext", answer)
    response = await memory.build_context("tea")
    assert isinstance(response.formatted_context, kind)


async def test_turns_in_a_context_need_a_session(fake: FakeService, memory: AsyncMemory) -> None:
    with pytest.raises(errors.MemoryIdentityError, match="stm"):
        await memory.build_context_from_sources("tea", [SourceSpec(source="stm")])
    assert fake.calls == []


async def test_thread_id_is_an_older_name_of_session_id(fake: FakeService, memory: AsyncMemory) -> None:
    fake.answer("BuildContext", wire_context(), wire_context())
    for session_id in (" ", "s2"):
        with pytest.warns(DeprecationWarning, match="thread_id"):
            await memory.build_context_from_sources(
                "tea", [SourceSpec(source="stm")], session_id=session_id, thread_id="s1"
            )
    assert [call.request.scope.matching.session_id for call in fake.calls] == ["s1", "s2"]


@pytest.mark.parametrize("sources", [[], ["semantic", "semantic"]])
async def test_sources_are_at_least_one_and_each_at_most_once(
    fake: FakeService, memory: AsyncMemory, sources: list[str]
) -> None:
    with pytest.raises(ValueError, match="at most once"):
        await memory.build_context_from_sources("tea", [SourceSpec(source=one) for one in sources])
    assert fake.calls == []


@pytest.mark.parametrize("max_tokens", [0, -1, True, 10.5, float("nan")])
async def test_a_budget_is_a_whole_number_above_zero(
    fake: FakeService, memory: AsyncMemory, max_tokens: Any
) -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        await memory.build_context("tea", max_tokens=max_tokens)
    assert fake.calls == []


async def test_the_store_goes_with_every_call(fake: FakeService) -> None:
    fake.answer("SearchMemories", hits())
    async with AsyncMemory(fake.target, store="notes") as memory:
        await memory.search_semantic("tea")
    assert sent(fake).store_id == "notes"


async def test_the_project_is_checked_once(fake: FakeService) -> None:
    fake.answer("WhoAmI", wire_who_am_i())
    fake.answer("SearchMemories", hits(), hits())
    async with AsyncMemory(fake.target, project_id=" p1 ") as memory:
        await memory.search_semantic("tea")
        await memory.bind(ADA).search_semantic("tea")
    assert fake.methods() == ["WhoAmI", "SearchMemories", "SearchMemories"]


async def test_a_credential_of_another_project_is_refused(fake: FakeService) -> None:
    fake.answer("WhoAmI", wire_who_am_i())
    refused = pytest.raises(errors.MemoryAuthError, match="belongs to project p1")
    async with AsyncMemory(fake.target, project_id="p2") as memory:
        with refused:
            await memory.search_semantic("tea")
    assert fake.methods() == ["WhoAmI"]


async def test_target_and_token_come_from_the_environment(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_TARGET", fake.target)
    monkeypatch.setenv("RICORDO_TOKEN", "from-env")
    fake.answer("SearchMemories", hits(), hits())
    async with AsyncMemory() as memory:
        await memory.search_semantic("tea")
    async with AsyncMemory(token="explicit") as memory:
        await memory.search_semantic("tea")
    tokens = [call.metadata["authorization"] for call in fake.calls]
    assert tokens == ["Bearer from-env", "Bearer explicit"]


async def test_a_blank_environment_is_unset(fake: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_TOKEN", "  ")
    fake.answer("SearchMemories", hits())
    async with AsyncMemory(fake.target) as memory:
        await memory.search_semantic("tea")
    assert "authorization" not in fake.calls[0].metadata


@pytest.mark.parametrize(("target", "token"), [("", None), (" ", None), (None, ""), (None, " ")])
def test_a_blank_target_or_token_is_refused(target: str | None, token: str | None) -> None:
    with pytest.raises(ValueError, match="blank"):
        AsyncMemory(target, token=token)


async def test_a_given_client_is_left_open(fake: FakeService) -> None:
    async with AsyncClient(fake.target) as client:
        async with AsyncMemory(client=client) as memory:
            assert memory.bind(ADA) is not memory
        fake.answer("WhoAmI", wire_who_am_i())
        assert (await client.identity.who_am_i()).principal_id == "agent"


async def test_a_client_and_a_target_contradict(fake: FakeService) -> None:
    async with AsyncClient(fake.target) as client:
        with pytest.raises(errors.MemoryClientError):
            AsyncMemory(fake.target, client=client)
