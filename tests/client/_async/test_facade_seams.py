"""How the facade is connected: constructor and environment, the project's guard, other clients than ours."""

import warnings
from typing import Any

import grpc
import pytest

from ricordo import AsyncClient, AsyncMemory, AsyncMemoryClient, MemoryRequestContext, SourceSpec, errors
from ricordo.models import Scope, SearchReport, SearchResult, WhoAmI
from ricordo.v1.memory_service_pb2 import SearchMemoriesResponse
from tests.fixtures.client_samples import wire_context, wire_report, wire_who_am_i
from tests.fixtures.fake_service import FakeService, Refusal

NOTHING = SearchMemoriesResponse(report=wire_report())
BO = MemoryRequestContext(user_id="bo", session_id="s1")

OPERATIONS: dict[str, dict[str, Any]] = {
    "record_turn": {"role": "user", "content": "x"},
    "record_turns": {"turns": []},
    "save_semantic": {"text": "x", "label": "x"},
    "save_semantic_batch": {"facts": [{"text": "x", "label": "x"}]},
    "search_semantic": {"query": "x"},
    "get_semantic": {"label": "x"},
    "update_semantic": {"memory_id": "m", "text": "x"},
    "delete_semantic": {"memory_id": "m"},
    "save_episode": {"title": "x", "content": "x"},
    "search_episodes": {"query": "x"},
    "list_episodes": {},
    "update_episode": {"memory_id": "m", "content": "x"},
    "delete_episode": {"memory_id": "m"},
    "save_taxonomic": {"domain": "d", "term": "t", "definition": "x"},
    "search_taxonomic": {"query": "x"},
    "get_taxonomic_term": {"domain": "d", "term": "t"},
    "list_domains": {},
    "update_taxonomic": {"memory_id": "m", "definition": "x"},
    "delete_taxonomic": {"memory_id": "m"},
    "save_procedure": {"procedure": "p", "description": "d", "content": "x"},
    "discover_procedures": {"query": "x"},
    "get_procedure": {"procedure_name": "x"},
    "update_procedure": {"memory_id": "m", "content": "x"},
    "delete_procedure": {"memory_id": "m"},
    "save": {"memory_type": "ticket", "content": "x"},
    "retrieve": {"memory_type": "ticket", "query": "x"},
    "update": {"memory_type": "ticket", "memory_id": "m", "content": "x"},
    "delete": {"memory_type": "ticket", "memory_id": "m"},
    "search": {"query": "x"},
    "build_context": {"query": "x"},
    "build_context_from_sources": {"query": "x", "sources": []},
    "wait_for_extraction": {"session_id": "s"},
    "why": {"memory_id": "m"},
}


def test_every_operation_is_here() -> None:
    public = {name for name in dir(AsyncMemory) if not name.startswith("_")}
    assert public - {"bind", "close"} == set(OPERATIONS)


@pytest.mark.parametrize("operation", sorted(OPERATIONS.keys() - {"build_context_from_sources"}))
async def test_every_operation_checks_the_project_first(fake: FakeService, operation: str) -> None:
    fake.answer("WhoAmI", wire_who_am_i())
    memory = AsyncMemory(fake.target, project_id="another").bind(BO)
    with pytest.raises(errors.MemoryAuthError, match="not to another") as refused:
        await getattr(memory, operation)(**OPERATIONS[operation])
    assert refused.value.reason == "PERMISSION_DENIED"
    assert fake.methods() == ["WhoAmI"]
    await memory.close()


async def test_each_input_comes_from_the_environment(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"TARGET": fake.target, "TOKEN": "secret", "PROJECT_ID": " p1 ", "STORE": "notes"}
    for name, value in given.items():
        monkeypatch.setenv(f"RICORDO_{name}", value)
    fake.answer("WhoAmI", wire_who_am_i())
    fake.answer("SearchMemories", NOTHING)
    async with AsyncMemory() as memory:
        await memory.search_semantic("x")
    assert fake.methods() == ["WhoAmI", "SearchMemories"]
    assert (fake.calls[1].metadata["authorization"], fake.calls[1].request.store_id) == (
        "Bearer secret",
        "notes",
    )


async def test_what_is_given_wins_over_the_environment(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TARGET", "TOKEN", "STORE"):
        monkeypatch.setenv(f"RICORDO_{name}", "elsewhere")
    monkeypatch.setenv("RICORDO_PROJECT_ID", " ")
    fake.answer("SearchMemories", NOTHING)
    async with AsyncMemory(fake.target, token="mine", store="notes") as memory:
        await memory.search_semantic("x")
    (call,) = fake.calls
    assert (call.metadata["authorization"], call.request.store_id) == ("Bearer mine", "notes")


async def test_a_given_client_is_not_mixed_with_the_environment(
    fake: FakeService, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_PROJECT_ID", "another")
    monkeypatch.setenv("RICORDO_STORE", "elsewhere")
    fake.answer("SearchMemories", NOTHING)
    await AsyncMemory(client=client).search_semantic("x")
    assert fake.calls[0].request.store_id == ""


@pytest.mark.parametrize("through", ["argument", "environment"])
async def test_api_key_is_an_older_name_of_the_token(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    if through == "environment":
        monkeypatch.setenv("RICORDO_API_KEY", "old")
    with pytest.warns(DeprecationWarning, match="api_key is deprecated"):
        memory = AsyncMemory(fake.target, api_key="old" if through == "argument" else None)
    fake.answer("SearchMemories", NOTHING)
    await memory.search_semantic("x")
    assert fake.calls[0].metadata["authorization"] == "Bearer old"
    await memory.close()


async def test_older_names_are_told_at_the_line_that_uses_them(fake: FakeService) -> None:
    """Elsewhere Python hides the warning."""
    fake.answer("SearchMemories", NOTHING)
    fake.answer("BuildContext", wire_context(), wire_context())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        async with AsyncMemory(fake.target, api_key="old") as memory:
            await memory.search_semantic("x", visibility="shared")
            await memory.build_context("x", thread_id="s1")
            await memory.build_context_from_sources("x", [SourceSpec(source="stm")], thread_id="s1")
    assert [warning.filename for warning in told] == [__file__] * 4


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ({"token": "a", "api_key": "b"}, {}),
        ({"token": "a"}, {"RICORDO_API_KEY": "b"}),
        ({"api_key": "b"}, {"RICORDO_TOKEN": "a"}),
        ({}, {"RICORDO_TOKEN": "a", "RICORDO_API_KEY": "b"}),
    ],
)
def test_a_token_and_an_api_key_contradict(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="both given"):
        AsyncMemory(**arguments)


@pytest.mark.parametrize("visibility", ["everybody", "", "ORG "])
async def test_another_visibility_is_refused(fake: FakeService, visibility: str) -> None:
    memory = AsyncMemory(fake.target)
    with pytest.raises(ValueError, match="private, org, readable"):
        await memory.search_semantic("x", visibility=visibility)
    with pytest.raises(ValueError, match=r"private, org$"):
        await memory.save_semantic(text="x", label="x", user_id="ada", visibility="readable")
    assert fake.calls == []


async def test_an_unknown_call_names_the_target_and_the_remedy(fake: FakeService) -> None:
    fake.answer("SearchMemories", Refusal(grpc.StatusCode.UNIMPLEMENTED))
    async with AsyncMemory(fake.target) as memory:
        refused = pytest.raises(
            errors.MemoryRouteNotFoundError, match=f"{fake.target}.*is it a Ricordo server"
        )
        with refused:
            await memory.search_semantic("x")


async def test_an_outage_of_the_embedding_model_passes_and_its_absence_does_not(fake: FakeService) -> None:
    outage = Refusal(grpc.StatusCode.UNAVAILABLE, reason="EMBEDDER_UNAVAILABLE")
    absence = Refusal(grpc.StatusCode.UNIMPLEMENTED, "there is none", reason="EMBEDDER_NOT_CONFIGURED")
    fake.answer("SearchMemories", *[outage] * 4, absence)
    memory = AsyncMemory(fake.target)
    with pytest.raises(errors.ServiceUnavailableError) as caught:
        await memory.search_semantic("x")
    assert (caught.value.reason, caught.value.retryable) == ("EMBEDDER_UNAVAILABLE", True)
    with pytest.raises(errors.MemoryNotSupportedError, match="there is none"):
        await memory.search_semantic("x")
    await memory.close()


class Recorder:
    """A client of somebody's own: the calls that the test needs."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.closed = False
        self.memories: Any = self
        self.sessions: Any = self
        self.context: Any = self
        self.identity: Any = self

    async def who_am_i(self) -> WhoAmI:
        return WhoAmI(principal_id="x", kind="service", project_id="p1")

    async def search(self, query: str, **arguments: Any) -> SearchResult[Any]:
        self.asked.append({"query": query, **arguments})
        return SearchResult(hits=(), report=SearchReport(effective_mode="text"))

    async def close(self) -> None:
        self.closed = True


async def test_any_object_with_the_calls_is_a_client() -> None:
    recorder = Recorder()
    client: AsyncMemoryClient = recorder
    async with AsyncMemory(client=client, project_id="p1", store="notes") as memory:
        assert await memory.bind(BO).search_semantic("tea", top_k=3) == []
    (asked,) = recorder.asked
    assert (asked["query"], asked["top_k"], asked["store"], asked["kinds"]) == (
        "tea",
        3,
        "notes",
        ["semantic"],
    )
    assert Scope.model_validate(asked["scope"].model_dump()) == Scope(user_id="bo")
    assert not recorder.closed
