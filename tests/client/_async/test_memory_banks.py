"""What `client.memory_banks` asks the server: a scripted one."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ricordo import AsyncClient
from ricordo._async.memory_banks import AsyncMemoryBanks
from ricordo.errors import MemoryClientError
from ricordo.v1 import memory_pb2, memory_service_pb2, session_service_pb2, store_service_pb2
from ricordo.v1.scope_pb2 import Scope
from ricordo.v1.session_pb2 import Session
from tests.fixtures.client_samples import NOON_WIRE, wire_memory, wire_store, wire_who_am_i
from tests.fixtures.fake_service import FakeService

BANK = "projects/p1/locations/here/reasoningEngines/tea-bank"
SAID = {"events": [{"content": {"role": "model", "parts": [{"text": "Oolong,"}, {"text": "please."}]}}]}


def wire_session(user: str) -> Session:
    scope = Scope(user_id=user, session_id="s1")
    times: dict[str, Any] = dict.fromkeys(("create_time", "update_time", "last_activity_time"), NOON_WIRE)
    return Session(store_id="tea-bank", scope=scope, **times)


async def test_the_project_of_a_name_is_checked_once(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("WhoAmI", wire_who_am_i())
    for _ in range(2):
        fake.answer("GetMemory", memory_service_pb2.GetMemoryResponse(memory=wire_memory()))
        await client.memory_banks.memories.get(name=f"{BANK}/memories/m1")
    assert fake.methods() == ["WhoAmI", "GetMemory", "GetMemory"]


async def test_a_short_name_needs_no_check(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("GetMemory", memory_service_pb2.GetMemoryResponse(memory=wire_memory()))
    await client.memory_banks.memories.get(name="tea-bank/memories/m1")
    assert fake.methods() == ["GetMemory"]


async def test_facts_and_profiles_are_learned_from_what_was_said(
    fake: FakeService, client: AsyncClient
) -> None:
    fake.answer("GetStore", store_service_pb2.GetStoreResponse(store=wire_store()))
    await client.memory_banks.memories.generate(
        name="tea-bank", direct_contents_source=SAID, scope={"user_id": "ada"}
    )
    request = fake.calls[-1].request
    assert list(request.kinds) == [memory_pb2.MEMORY_KIND_SEMANTIC, memory_pb2.MEMORY_KIND_PROFILE]
    (turn,) = request.turns.turns
    assert (turn.role, turn.content) == ("assistant", "Oolong,\nplease.")


async def test_thoughts_and_calls_are_not_said(fake: FakeService, client: AsyncClient) -> None:
    thought = {"text": "A secret thought.", "thought": True}
    call = {"function_call": {"name": "weather", "args": {"city": "Roma"}}}
    answer = {"function_response": {"name": "weather", "response": {"sky": "rain"}}}
    contents = [
        {"role": "model", "parts": [thought, {"text": "Let me see."}, call]},
        {"role": "user", "parts": [answer]},
        {"role": "model", "parts": [call]},
    ]
    fake.answer("GetStore", store_service_pb2.GetStoreResponse(store=wire_store()))
    await client.memory_banks.memories.generate(
        name="tea-bank",
        direct_contents_source={"events": [{"content": each} for each in contents]},
        scope={"user_id": "ada"},
    )
    turns = [(turn.role, turn.content) for turn in fake.calls[-1].request.turns.turns]
    assert turns == [("assistant", "Let me see."), ("tool", '{"sky": "rain"}')]


async def test_where_nothing_is_said_nothing_is_learned(fake: FakeService, client: AsyncClient) -> None:
    contents = {"role": "model", "parts": [{"text": "A secret thought.", "thought": True}]}
    operation = await client.memory_banks.memories.generate(
        name="tea-bank", direct_contents_source={"events": [{"content": contents}]}, scope={"user_id": "ada"}
    )
    assert operation.response is not None
    assert (operation.response.generated_memories, fake.calls) == ([], [])


@pytest.mark.parametrize("part", [{}, {"inline_data": {}}, {"text": "x", "function_call": {"name": "f"}}])
async def test_another_part_is_refused(client: AsyncClient, part: dict[str, Any]) -> None:
    source = {"events": [{"content": {"parts": [part]}}]}
    with pytest.raises(MemoryClientError, match="parts"):
        await client.memory_banks.memories.generate(
            name="tea-bank", direct_contents_source=source, scope={"user_id": "ada"}
        )


async def test_given_facts_are_facts(fake: FakeService, client: AsyncClient) -> None:
    await client.memory_banks.memories.generate(
        name="tea-bank",
        direct_memories_source={"direct_memories": [{"fact": "Oolong."}]},
        scope={"user_id": "ada"},
    )
    assert list(fake.calls[0].request.kinds) == []


async def test_a_model_is_waited_for_longer_than_other_calls(fake: FakeService, client: AsyncClient) -> None:
    source = {"direct_memories": [{"fact": "Oolong."}]}
    for timeout in (None, 20.0):
        await client.memory_banks.memories.generate(
            name="tea-bank", direct_memories_source=source, scope={"user_id": "ada"}, timeout=timeout
        )
    longest, given = (call.time_remaining for call in fake.calls)
    assert longest > 60 > given


async def test_a_session_that_two_users_have_needs_a_scope(fake: FakeService, client: AsyncClient) -> None:
    found = session_service_pb2.ListSessionsResponse(sessions=[wire_session("ada"), wire_session("bob")])
    source: dict[str, Any] = {"session": f"{BANK}/sessions/s1"}
    fake.answer("WhoAmI", wire_who_am_i())
    fake.answer("ListSessions", found, found)
    with pytest.raises(MemoryClientError, match="fit 's1' and the scope"):
        await client.memory_banks.memories.generate(name=BANK, vertex_session_source=source)
    fake.answer("GetStore", store_service_pb2.GetStoreResponse(store=wire_store()))
    await client.memory_banks.memories.generate(
        name=BANK, vertex_session_source=source, scope={"user_id": "bob"}
    )
    assert fake.calls[-1].request.session.scope == Scope(user_id="bob", session_id="s1")


async def test_a_purge_goes_on_until_nothing_is_left(fake: FakeService, client: AsyncClient) -> None:
    for matching, deleted in ((1200, 500), (700, 500), (200, 200)):
        fake.answer(
            "DeleteMemories",
            memory_service_pb2.DeleteMemoriesResponse(matching_count=matching, deleted_count=deleted),
        )
    purged = await client.memory_banks.memories.purge(name="tea-bank", filter='fact: "tea"', force=True)
    assert purged.response is not None
    assert (purged.response.purge_count, len(fake.calls)) == (1200, 3)


EVENTS: dict[str, Any] = {"events": [{**SAID["events"][0], "event_id": "e1"}]}


async def test_a_rule_that_is_given_is_sent_as_it_is(fake: FakeService, client: AsyncClient) -> None:
    ingested = await client.memory_banks.ingest_events(
        name="tea-bank",
        scope={"user_id": "ada"},
        direct_contents_source=EVENTS,
        generation_trigger_config={"generation_rule": {"event_count": 3}},
    )
    assert (ingested.name, ingested.done) == (None, True)
    (call,) = fake.calls
    assert (call.request.trigger_rule.turn_count, call.request.force_flush) == (3, False)
    assert (call.request.scope.session_id, call.request.turns[0].idempotency_key) == ("default", "e1")


async def test_without_a_rule_of_stream_or_bank_events_are_flushed(
    fake: FakeService, client: AsyncClient
) -> None:
    fake.answer("GetSession", session_service_pb2.GetSessionResponse(session=wire_session("ada")))
    fake.answer("GetStore", store_service_pb2.GetStoreResponse(store=wire_store()))
    await client.memory_banks.ingest_events(
        name="tea-bank", scope={"user_id": "ada"}, direct_contents_source=EVENTS
    )
    assert fake.methods() == ["GetSession", "GetStore", "BatchRecordTurns"]
    assert fake.calls[-1].request.force_flush


Call = Callable[[AsyncMemoryBanks], Awaitable[object]]
ADA = {"user_id": "ada"}


@pytest.mark.parametrize(
    "call",
    [
        lambda banks: banks.create(config=5),
        lambda banks: banks.create(config={"memory_bank_id": "a/b"}),
        lambda banks: banks.create(managed_semantic_memory_config="x"),
        lambda banks: banks.create(managed_semantic_memory_config={"ttl_config": {"default_ttl": "x"}}),
        lambda banks: banks.get(name=5),
        lambda banks: banks.get(name=None),
        lambda banks: banks.update(name="b"),
        lambda banks: banks.ingest_events(name="b", scope=5, direct_contents_source=SAID),
        lambda banks: banks.ingest_events(name="b", scope=ADA, direct_contents_source={"events": "x"}),
        lambda banks: banks.ingest_events(
            name="b", scope=ADA, generation_trigger_config={"generation_rule": {"event_count": "x"}}
        ),
        lambda banks: banks.ingest_events(name="b", scope=ADA, stream_id=5, direct_contents_source=SAID),
        lambda banks: banks.memories.create(name="b", fact=5, scope=ADA),
        lambda banks: banks.memories.create(name="b", fact="x", scope={"user_id": 5}),
        lambda banks: banks.memories.create(name="b", fact="x", scope="ada"),
        lambda banks: banks.memories.create(name="b", fact="x", scope=ADA, config=[1]),
        lambda banks: banks.memories.create(name="b", fact="x", scope=ADA, config={"ttl": 10**20}),
        lambda banks: banks.memories.create(name="b", fact="x", scope=ADA, config={"metadata": {"a": []}}),
        lambda banks: banks.memories.create(name="b", fact="x", scope=ADA, config={1: 2}),
        lambda banks: banks.memories.update(name="b/memories/m", fact=5),
        lambda banks: banks.memories.update(name="b/memories/m", fact="x", config={"update_mask": 5}),
        lambda banks: banks.memories.list(name="b", config={"page_size": "x"}),
        lambda banks: banks.memories.list(name="b", config={"filter": 5}),
        lambda banks: banks.memories.retrieve(name="b", scope=ADA, similarity_search_params={}),
        lambda banks: banks.memories.retrieve(name="b", scope=ADA, config={"kinds": ["x"]}),
        lambda banks: banks.memories.retrieve(name="b", scope=ADA, config={"filter_groups": [{}]}),
        lambda banks: banks.memories.retrieve_profiles(name="b", scope=None),
        lambda banks: banks.memories.generate(name="b", direct_memories_source=5, scope=ADA),
        lambda banks: banks.memories.generate(name="b", direct_contents_source=SAID, scope=5),
        lambda banks: banks.memories.generate(name="b", vertex_session_source={"session": 5}),
        lambda banks: banks.memories.purge(name="b", filter=5),
        lambda banks: banks.memories.purge(name="b", filter_groups=5),
        lambda banks: banks.memories.purge(name="b", filter_groups=[5]),
        lambda banks: banks.memories.rollback(name="b/memories/m", target_revision_id=None),
        lambda banks: banks.memories.revisions.list(name="b/memories/m", config={"filter": 5}),
        lambda banks: banks.memories.revisions.get(name="b/memories/m"),
    ],
)
async def test_what_does_not_fit_is_refused_before_any_request(call: Call) -> None:
    with pytest.raises(MemoryClientError) as raised:
        await call(AsyncClient("127.0.0.1:1").memory_banks)
    assert raised.value.reason == "INVALID_FIELD"
