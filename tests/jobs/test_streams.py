"""Streams: turns of a session with a rule of its own for when memories are made of them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo import AsyncClient
from ricordo.errors import MemoryBadRequestError, MemoryClientError, NotFoundError, OperationCancelledError
from ricordo.models import (
    ExtractionPolicy,
    MetadataMergeStrategy,
    NewTurn,
    ProjectChanges,
    Scope,
    Snapshot,
    TriggerRule,
)
from ricordo_server.config import Settings
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.extraction.builtin import BuiltinExtractor
from ricordo_server.jobs import extraction
from tests.fixtures.database import TestDatabase
from tests.jobs.queue import read_jobs, until, worker

ADA = Scope(user_id="ada", session_id="s")
MINUTE = timedelta(minutes=1)


def events(*texts: str, first: int = 0) -> list[NewTurn]:
    return [
        NewTurn(role="user", content=text, idempotency_key=f"e{number}")
        for number, text in enumerate(texts, first)
    ]


@pytest.fixture
async def client(service_target: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target) as opened:
        await opened.project.update(ProjectChanges(extraction=ExtractionPolicy(kinds=["semantic"])))
        yield opened


async def runs(client: AsyncClient) -> list[tuple[int, int, str]]:
    found: list[Snapshot] = [each async for each in client.sessions.list_snapshots()]
    return [(each.from_turn_seq, each.to_turn_seq, each.cause) for each in found]


async def contents(client: AsyncClient) -> list[str]:
    return sorted([memory.content async for memory in client.memories.list()])


def waiting(database: TestDatabase, project_id: UUID) -> list[dict[str, Any]]:
    """The extractions that wait or run."""
    return [job for job in read_jobs(database, project_id) if job["task_name"] == "extract"]


async def test_enough_events_are_extracted_and_the_watermark_says_so(
    client: AsyncClient, settings: Settings
) -> None:
    rule = TriggerRule(turn_count=2)
    first = await client.sessions.ingest(events("I live in Rome."), scope=ADA, trigger_rule=rule)
    assert (await first.operation.done(), await runs(client)) == (False, [])
    await client.sessions.ingest(events("I like tea.", first=1), scope=ADA)
    assert await runs(client) == [(1, 2, "turn_count")]
    async with worker(settings, *extraction.KINDS):
        made = await first.operation.result(timeout=60)
    assert [each.memory.content for each in made.memories] == ["I live in Rome.", "I like tea."]
    session = await client.sessions.get(ADA)
    assert (session.trigger_rule, session.extracted_turn_seq) == (rule, 2)


async def test_calls_share_an_operation_until_it_is_done(client: AsyncClient, settings: Settings) -> None:
    rule = TriggerRule(turn_count=2)
    names = []
    for number in range(2):
        ingested = await client.sessions.ingest(
            events(f"I like tea {number}.", first=number), scope=ADA, trigger_rule=rule
        )
        names.append(ingested.operation.operation_id)
    async with worker(settings, *extraction.KINDS):
        await ingested.operation.result(timeout=60)
    later = await client.sessions.ingest(events("I like cats.", first=2), scope=ADA)
    assert names[0] == names[1] != later.operation.operation_id


async def test_a_flush_does_not_wait(client: AsyncClient, settings: Settings) -> None:
    ingested = await client.sessions.ingest(events("I live in Rome."), scope=ADA, force_flush=True)
    assert await runs(client) == [(1, 1, "requested")]
    async with worker(settings, *extraction.KINDS):
        await ingested.operation.result(timeout=60)
    assert await contents(client) == ["I live in Rome."]


async def test_known_events_are_not_recorded_again(client: AsyncClient) -> None:
    rule = TriggerRule(turn_count=9)
    await client.sessions.ingest(events("I live in Rome."), scope=ADA, trigger_rule=rule)
    again = await client.sessions.ingest(events("I live in Rome.", "I like tea."), scope=ADA)
    assert [each.created for each in again.turns] == [False, True]
    assert (await client.sessions.get(ADA)).last_turn_seq == 2


async def test_without_a_rule_the_policy_says_and_no_operation_is_made(client: AsyncClient) -> None:
    ingested = await client.sessions.ingest(events("I live in Rome."), scope=ADA)
    assert (ingested.operation, await runs(client)) == (None, [])


async def test_a_rule_is_changed_without_events_and_holds_for_those_that_wait(client: AsyncClient) -> None:
    await client.sessions.ingest(events("a", "b", "c"), scope=ADA, trigger_rule=TriggerRule(turn_count=9))
    await client.sessions.ingest([], scope=ADA, trigger_rule=TriggerRule(turn_count=3, overlap=1))
    assert await runs(client) == [(1, 3, "turn_count")]


async def test_a_session_is_created_with_a_rule(client: AsyncClient) -> None:
    rule = TriggerRule(turn_count=2, overlap=1)
    created = await client.sessions.create(ADA, trigger_rule=rule)
    for turn in events("I live in Rome.", "I like tea."):
        await client.sessions.record_turn(turn, scope=ADA)
    assert created.trigger_rule == (await client.sessions.get(ADA)).trigger_rule == rule
    assert await runs(client) == [(1, 2, "turn_count")]


async def test_an_empty_rule_of_a_new_session_is_the_policy(client: AsyncClient) -> None:
    assert (await client.sessions.create(ADA, trigger_rule=TriggerRule())).trigger_rule is None


async def test_a_rule_that_makes_no_sense_makes_no_session(client: AsyncClient) -> None:
    with pytest.raises(MemoryBadRequestError) as refused:
        await client.sessions.create(ADA, trigger_rule=TriggerRule(interval=timedelta(seconds=61)))
    assert refused.value.field_violations[0].field == "session.trigger_rule.interval"


async def test_an_empty_rule_is_the_policy_again(client: AsyncClient) -> None:
    await client.sessions.ingest(events("a"), scope=ADA, trigger_rule=TriggerRule(turn_count=2))
    await client.sessions.ingest([], scope=ADA, trigger_rule=TriggerRule())
    await client.sessions.ingest(events("b", first=1), scope=ADA)
    assert ((await client.sessions.get(ADA)).trigger_rule, await runs(client)) == (None, [])


async def test_idle_time_of_the_rule_promotes(client: AsyncClient, settings: Settings) -> None:
    rule = TriggerRule(idle=timedelta(milliseconds=200))
    ingested = await client.sessions.ingest(events("I live in Rome."), scope=ADA, trigger_rule=rule)
    async with worker(settings, *extraction.KINDS):
        await ingested.operation.result(timeout=60)
    assert await runs(client) == [(1, 1, "idle")]


async def test_an_interval_counts_from_the_first_event_that_waits(
    client: AsyncClient, settings: Settings, database: TestDatabase, project_id: UUID
) -> None:
    rule = TriggerRule(interval=MINUTE)
    await client.sessions.ingest(events("I live in Rome."), scope=ADA, trigger_rule=rule)
    await client.sessions.ingest(events("I like tea.", first=1), scope=ADA)
    [job] = read_jobs(database, project_id)
    assert timedelta(0) < job["scheduled_at"] - datetime.now(UTC) <= MINUTE
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "UPDATE ricordo.turn SET create_time = create_time - interval '1 minute'"
            " WHERE project_id = %s AND turn_seq = 1",
            [project_id],
        )
        connection.execute(
            "UPDATE procrastinate.procrastinate_jobs SET scheduled_at = now() WHERE queue_name = %s",
            [str(project_id)],
        )
    async with worker(settings, *extraction.KINDS):
        await until(lambda: not read_jobs(database, project_id))
    assert await runs(client) == [(1, 2, "idle")]


async def test_a_new_rule_does_not_wait_for_the_old_one(client: AsyncClient, settings: Settings) -> None:
    await client.sessions.ingest(events("I live in Rome."), scope=ADA, trigger_rule=TriggerRule(turn_count=9))
    ingested = await client.sessions.ingest(
        [], scope=ADA, trigger_rule=TriggerRule(idle=timedelta(milliseconds=1))
    )
    async with worker(settings, *extraction.KINDS):
        await ingested.operation.result(timeout=60)
    assert await contents(client) == ["I live in Rome."]


async def test_without_idle_time_what_was_said_last_is_flushed_after_a_day(
    client: AsyncClient, database: TestDatabase, project_id: UUID
) -> None:
    await client.sessions.ingest(events("a"), scope=ADA, trigger_rule=TriggerRule(turn_count=9))
    [job] = read_jobs(database, project_id)
    assert timedelta(hours=23) < job["scheduled_at"] - datetime.now(UTC) <= timedelta(hours=24)


async def test_events_are_read_in_the_order_of_their_times(client: AsyncClient, settings: Settings) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    later = NewTurn(role="user", content="I live in Berlin.", event_time=noon + MINUTE)
    earlier = NewTurn(role="user", content="I live in Rome.", event_time=noon)
    ingested = await client.sessions.ingest([later, earlier], scope=ADA, force_flush=True)
    async with worker(settings, *extraction.KINDS):
        made = await ingested.operation.result(timeout=60)
    assert [each.memory.content for each in made.memories][-1] == "I live in Berlin."


async def test_what_is_said_for_a_stream_holds_for_what_is_made(
    client: AsyncClient, settings: Settings
) -> None:
    ingested = await client.sessions.ingest(
        events("I live in Rome."),
        scope=ADA,
        force_flush=True,
        metadata={"source": "crm"},
        metadata_merge_strategy=MetadataMergeStrategy.MERGE,
    )
    async with worker(settings, *extraction.KINDS):
        [made] = (await ingested.operation.result(timeout=60)).memories
    assert made.memory.metadata == {"source": "crm"}


async def test_only_allowed_topics_are_learned(client: AsyncClient, settings: Settings) -> None:
    ingested = await client.sessions.ingest(
        events("I live in Rome.", "My cat is called Tom."),
        scope=ADA,
        force_flush=True,
        allowed_topics=["cat"],
    )
    async with worker(settings, *extraction.KINDS):
        made = await ingested.operation.result(timeout=60)
    assert [each.memory.content for each in made.memories] == ["My cat is called Tom."]


async def test_a_cancelled_stream_extracts_nothing_until_it_is_retried(
    client: AsyncClient, settings: Settings, database: TestDatabase, project_id: UUID
) -> None:
    ingested = await client.sessions.ingest(events("I live in Rome."), scope=ADA, force_flush=True)
    await ingested.operation.cancel()
    async with worker(settings, *extraction.KINDS):
        await until(lambda: not waiting(database, project_id))
        assert await contents(client) == []
        [failure] = [each async for each in client.extraction.list_failures()]
        assert failure.failure_class == "cancelled"
        await client.extraction.retry_failure(failure.snapshot_id, failure.kind)
        await until(lambda: not waiting(database, project_id))
    assert await contents(client) == ["I live in Rome."]
    with pytest.raises(OperationCancelledError):
        await ingested.operation.result()


async def test_a_stream_whose_extractions_were_given_up_has_an_error(
    client: AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: BuiltinExtractor, *given: object) -> object:
        raise StepError(FailureClass.CONTENT, "filtered")

    monkeypatch.setattr(BuiltinExtractor, "extract", refuse)
    ingested = await client.sessions.ingest(events("I live in Rome."), scope=ADA, force_flush=True)
    async with worker(settings, *extraction.KINDS):
        with pytest.raises(MemoryBadRequestError, match="EXTRACTION_FAILED"):
            await ingested.operation.result(timeout=60)


async def test_a_kind_that_was_given_up_makes_the_result_incomplete(
    client: AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.project.update(ProjectChanges(extraction=ExtractionPolicy(kinds=["semantic", "episodic"])))
    extract = BuiltinExtractor.extract

    async def refuse(self: BuiltinExtractor, *given: Any) -> object:
        if given[0].kind == "EPISODIC":
            raise StepError(FailureClass.CONTENT, "filtered")
        return await extract(self, *given)

    monkeypatch.setattr(BuiltinExtractor, "extract", refuse)
    ingested = await client.sessions.ingest(events("I live in Rome."), scope=ADA, force_flush=True)
    async with worker(settings, *extraction.KINDS):
        made = await ingested.operation.result(timeout=60)
    assert ([each.memory.content for each in made.memories], made.incomplete) == (["I live in Rome."], True)


async def test_a_deleted_session_ends_its_operation(client: AsyncClient) -> None:
    ingested = await client.sessions.ingest(events("a"), scope=ADA, trigger_rule=TriggerRule(turn_count=9))
    await client.sessions.delete(ADA)
    assert (await ingested.operation.result(timeout=60)).memories == ()


async def test_a_flush_of_nothing_is_done_at_once(client: AsyncClient) -> None:
    ingested = await client.sessions.ingest([], scope=ADA, force_flush=True)
    assert (await ingested.operation.result(timeout=60)).memories == ()


async def test_a_rule_works_where_extraction_is_off(client: AsyncClient) -> None:
    await client.project.update(ProjectChanges(extraction=ExtractionPolicy(enabled=False)))
    await client.sessions.ingest(events("a", "b"), scope=ADA, trigger_rule=TriggerRule(turn_count=2))
    assert await runs(client) == [(1, 2, "turn_count")]


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (TriggerRule(interval=timedelta(seconds=90)), "whole minutes"),
        (TriggerRule(idle=timedelta(days=31)), "30 days"),
        (TriggerRule(turn_count=0), "trigger_rule.turn_count"),
        (TriggerRule(turn_count=2, overlap=21), "trigger_rule.overlap"),
    ],
)
async def test_a_rule_that_makes_no_sense_is_refused(
    client: AsyncClient, rule: TriggerRule, fault: str
) -> None:
    with pytest.raises(MemoryBadRequestError, match=fault):
        await client.sessions.ingest([], scope=ADA, trigger_rule=rule)


async def test_idle_time_and_interval_exclude_each_other() -> None:
    with pytest.raises(MemoryClientError, match="idle or interval"):
        TriggerRule(idle=MINUTE, interval=MINUTE)


async def test_no_turns_and_nothing_else_is_refused(client: AsyncClient) -> None:
    with pytest.raises(MemoryBadRequestError, match="turns is empty"):
        await client.sessions.ingest([], scope=ADA)


async def test_another_user_has_no_part_in_a_stream(client: AsyncClient) -> None:
    ingested = await client.sessions.ingest(events("a"), scope=ADA, trigger_rule=TriggerRule(turn_count=9))
    bob = client.acting_as("bob")
    with pytest.raises(NotFoundError, match="OPERATION_NOT_FOUND"):
        await bob.operations.cancel(ingested.operation.operation_id)
