"""Events that are ingested into a stream of a memory bank, as its users do it."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ricordo import AsyncClient, errors
from ricordo import memory_bank as types
from ricordo._async.memory_banks import AsyncMemoryBanks
from ricordo.models import Scope, TriggerRule
from ricordo_server.config import Settings
from ricordo_server.jobs import extraction
from tests.jobs.queue import worker

SCOPE = {"user_id": "ada"}
RULE = {"generation_rule": {"event_count": 2}}


@pytest.fixture
async def client(service_target: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target) as opened:
        await opened.memory_banks.create(config={"memory_bank_id": "tea-bank"})
        yield opened


@pytest.fixture
def banks(client: AsyncClient) -> AsyncMemoryBanks:
    return client.memory_banks


def event(text: str, **fields: Any) -> dict[str, Any]:
    return {"content": {"role": "user", "parts": [{"text": text}]}, **fields}


@pytest.fixture
def ingest(banks: AsyncMemoryBanks) -> Callable[..., Any]:
    async def call(*events: dict[str, Any], **fields: Any) -> types.MemoryBankIngestEventsOperation:
        source = {"events": events} if events else None
        fields = {"scope": SCOPE, "stream_id": "s", "direct_contents_source": source, **fields}
        return await banks.ingest_events(name="tea-bank", **fields)

    return call


async def facts(banks: AsyncMemoryBanks, **config: Any) -> list[str | None]:
    found = await banks.memories.retrieve(name="tea-bank", scope=SCOPE, config=config)
    return sorted([each.memory.fact async for each in found])


async def test_without_a_rule_memories_are_made_at_once(
    banks: AsyncMemoryBanks, ingest: Callable[..., Any], settings: Settings
) -> None:
    operation = await ingest(event("I live in Rome."))
    assert (operation.done, operation.error) == (False, None)
    async with worker(settings, *extraction.KINDS):
        ended = await banks.wait_operation(name=operation.name, timeout=60)
    assert (ended.name, ended.done, ended.error) == (operation.name, True, None)
    assert await facts(banks) == ["I live in Rome."]


async def test_a_worker_is_waited_for(
    banks: AsyncMemoryBanks, ingest: Callable[..., Any], settings: Settings
) -> None:
    async with worker(settings, *extraction.KINDS):
        operation = await ingest(event("I live in Rome."), config={"wait_for_completion": True}, timeout=60)
    assert operation.done
    assert operation.response is not None
    assert "I live in Rome." in [each.memory.fact for each in operation.response.generated_memories]


async def test_waiting_ends_where_no_worker_runs(
    banks: AsyncMemoryBanks, ingest: Callable[..., Any], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo._async.bank_ingestion.PATIENCE", 0.1)
    with pytest.raises(errors.DeadlineExceededError, match="ricordo work"):
        await ingest(event("I live in Rome."), config={"wait_for_completion": True})
    async with worker(settings, *extraction.KINDS):
        await ingest(event("I like tea."), config={"wait_for_completion": True}, timeout=60)
    assert await facts(banks) == ["I like tea.", "I live in Rome."]


async def test_a_rule_says_when_and_ingestions_share_an_operation(
    banks: AsyncMemoryBanks, ingest: Callable[..., Any], settings: Settings
) -> None:
    first = await ingest(event("I live in Rome."), generation_trigger_config=RULE)
    second = await ingest(event("I like tea."))
    assert second.name == first.name
    async with worker(settings, *extraction.KINDS):
        await banks.wait_operation(name=first.name, timeout=60)
    assert await facts(banks) == ["I like tea.", "I live in Rome."]


async def test_a_known_event_is_not_ingested_again(client: AsyncClient, ingest: Callable[..., Any]) -> None:
    for text in ("I live in Rome.", "I live in Rome, again."):
        await ingest(event(text, event_id="e1"), generation_trigger_config=RULE)
    turns = [turn.content async for turn in client.sessions.list_turns(store="tea-bank")]
    assert turns == ["I live in Rome."]


async def test_a_rule_may_come_without_events(client: AsyncClient, ingest: Callable[..., Any]) -> None:
    await ingest(event("I live in Rome."), generation_trigger_config=RULE)
    idle = types.MemoryGenerationTriggerConfig(
        generation_rule={"idle_duration": "60s", "overlap_event_count": 1}
    )
    await ingest(generation_trigger_config=idle)
    session = await client.sessions.get(Scope(user_id="ada", session_id="s"), store="tea-bank")
    assert session.trigger_rule == TriggerRule(idle=idle.generation_rule.idle_duration, overlap=1)


async def test_what_waits_is_flushed_by_force(
    banks: AsyncMemoryBanks, ingest: Callable[..., Any], settings: Settings
) -> None:
    await ingest(event("I live in Rome."), generation_trigger_config=RULE)
    operation = await ingest(config={"force_flush": True})
    async with worker(settings, *extraction.KINDS):
        await banks.wait_operation(name=operation.name, timeout=60)
    assert await facts(banks) == ["I live in Rome."]


async def test_the_rule_of_a_bank_holds_for_its_streams(
    client: AsyncClient, banks: AsyncMemoryBanks, ingest: Callable[..., Any]
) -> None:
    await banks.update(
        name="tea-bank",
        managed_semantic_memory_config={"generation_config": {"generation_trigger_config": RULE}},
    )
    await ingest(event("I live in Rome."))
    assert [each async for each in client.sessions.list_snapshots(store="tea-bank")] == []
    await ingest(event("I like tea."))
    (snapshot,) = [each async for each in client.sessions.list_snapshots(store="tea-bank")]
    assert (snapshot.from_turn_seq, snapshot.to_turn_seq) == (1, 2)


async def test_what_is_learned_has_the_metadata_and_labels_given(
    banks: AsyncMemoryBanks, ingest: Callable[..., Any], settings: Settings
) -> None:
    config = {"metadata": {"source": "chat"}, "revision_labels": {"run": "7"}}
    operation = await ingest(event("I live in Rome."), config=config)
    async with worker(settings, *extraction.KINDS):
        await banks.wait_operation(name=operation.name, timeout=60)
    groups = [{"filters": [{"key": "source", "value": "chat"}]}]
    assert await facts(banks, filter_groups=groups) == ["I live in Rome."]
    found = await banks.memories.retrieve(name="tea-bank", scope=SCOPE)
    (revision,) = (await banks.memories.revisions.list(name=found[0].memory.name)).page
    assert revision.labels == {"run": "7"}


async def test_streams_of_one_id_are_apart_by_their_scope(
    client: AsyncClient, ingest: Callable[..., Any]
) -> None:
    for user in ("ada", "bob"):
        await ingest(
            event(f"I am {user}."),
            scope={"user_id": user},
            stream_id="",
            generation_trigger_config=RULE,
        )
    for user in ("ada", "bob"):
        session = await client.sessions.get(Scope(user_id=user, session_id="default"), store="tea-bank")
        assert session.last_turn_seq == 1


async def test_events_keep_the_time_they_were_said(client: AsyncClient, ingest: Callable[..., Any]) -> None:
    time = datetime(2026, 1, 31, 12, tzinfo=UTC)
    await ingest(event("I live in Rome.", event_time=time), generation_trigger_config=RULE)
    (turn,) = [turn async for turn in client.sessions.list_turns(store="tea-bank")]
    assert turn.event_time == time


async def test_calls_of_functions_and_their_answers_are_kept(
    client: AsyncClient, ingest: Callable[..., Any]
) -> None:
    thought = {"text": "A secret thought.", "thought": True, "thought_signature": b"x"}
    call = {"function_call": {"id": "c1", "name": "weather", "args": {"city": "Roma"}}}
    answer = {"function_response": {"id": "c1", "name": "weather", "response": {"sky": "rain"}}}
    await ingest(
        {"content": {"role": "model", "parts": [thought, call]}},
        {"content": {"role": "user", "parts": [answer]}},
        {"content": {"role": "model", "parts": [thought]}},
        generation_trigger_config=RULE,
    )
    called, answered = [turn async for turn in client.sessions.list_turns(store="tea-bank")]
    assert (called.role, called.content, called.tool_calls[0].name) == ("assistant", "", "weather")
    assert (answered.role, answered.content) == ("tool", '{"sky": "rain"}')
    assert (answered.tool_call_id, answered.tool_name) == ("c1", "weather")


async def test_there_must_be_something_to_do(ingest: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="give events"):
        await ingest()


async def test_a_stream_is_a_session_itself(ingest: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="leave session_id out"):
        await ingest(event("x"), scope={"user_id": "ada", "session_id": "s"})
