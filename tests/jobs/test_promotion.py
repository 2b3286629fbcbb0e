"""From turns to memories in the background: every trigger, each turn once, whoever dies."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext
from ricordo.errors import DeadlineExceededError
from ricordo.models import ExtractionPolicy, Matching, NewTurn, ProjectChanges, Scope, Snapshot
from ricordo_server.config import Settings
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.jobs import extraction
from ricordo_server.jobs.kind import JobKind
from tests.cli.programs import environment_of, started
from tests.fixtures.database import TestDatabase
from tests.jobs.queue import read_jobs, states, until, worker

ADA = Scope(user_id="ada", session_id="s")
TOPICS = {"tea": "I like green tea a lot.", "code": "The compiler reports a type error in line nine."}


def turns(count: int, text: str = TOPICS["tea"]) -> list[NewTurn]:
    return [NewTurn(role="user", content=f"{text} {number}") for number in range(count)]


@pytest.fixture
async def client(service_target: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target) as opened:
        yield opened


async def snapshots(client: AsyncClient) -> list[Snapshot]:
    return [each async for each in client.sessions.list_snapshots()]


def runs(found: list[Snapshot]) -> list[tuple[int, int, str]]:
    return [(each.from_turn_seq, each.to_turn_seq, each.cause) for each in found]


async def set_policy(client: AsyncClient, **policy: object) -> None:
    await client.project.update(ProjectChanges(extraction=ExtractionPolicy(**policy)))


async def test_enough_turns_become_a_snapshot_with_a_job_for_each_kind(
    client: AsyncClient, database: TestDatabase, project_id: UUID
) -> None:
    await set_policy(client, turn_count=3, kinds=["semantic", "episodic"])
    for turn in turns(7):
        await client.sessions.record_turn(turn, scope=ADA)
    found = await snapshots(client)
    assert runs(found) == [(1, 3, "turn_count"), (4, 6, "turn_count")]
    assert [each.context_from_turn_seq for each in found] == [1, 2]
    waiting = Counter(job["task_name"] for job in read_jobs(database, project_id))
    assert waiting == {"extract": 4, "promote_idle": 1}


async def test_a_long_import_becomes_several_snapshots(client: AsyncClient) -> None:
    await client.sessions.batch_record_turns(turns(230), scope=ADA)
    assert [(first, last) for first, last, _ in runs(await snapshots(client))] == [
        (1, 100),
        (101, 200),
        (201, 230),
    ]


async def test_a_turn_about_something_else_begins_the_next_snapshot(client: AsyncClient) -> None:
    await set_policy(client, topic_shift=0.35)
    for turn in [*turns(5), *turns(1, TOPICS["code"])]:
        await client.sessions.record_turn(turn, scope=ADA)
    assert runs(await snapshots(client)) == [(1, 5, "topic_shift")]


async def test_a_request_promotes_what_is_left(client: AsyncClient) -> None:
    await client.sessions.batch_record_turns(turns(3), scope=ADA)
    [snapshot_id] = await client.sessions.promote(ADA)
    assert await client.sessions.promote(ADA) == ()
    [found] = await snapshots(client)
    assert (found.snapshot_id, runs([found])) == (snapshot_id, [(1, 3, "requested")])


async def test_nothing_happens_where_extraction_is_off(
    client: AsyncClient, database: TestDatabase, project_id: UUID
) -> None:
    await set_policy(client, enabled=False)
    await client.sessions.batch_record_turns(turns(50), scope=ADA)
    assert (await snapshots(client), read_jobs(database, project_id)) == ([], [])


async def test_a_repeated_turn_counts_once(client: AsyncClient) -> None:
    await set_policy(client, turn_count=2)
    turn = NewTurn(role="user", content="tea", idempotency_key="k")
    for _ in range(3):
        await client.sessions.record_turn(turn, scope=ADA)
    assert await snapshots(client) == []


async def test_idle_sessions_are_extracted_and_their_memories_found(
    client: AsyncClient, settings: Settings
) -> None:
    await set_policy(client, idle=timedelta(seconds=0.3), kinds=["semantic"])
    await client.sessions.record_turn(NewTurn(role="user", content="I like green tea."), scope=ADA)
    async with worker(settings, *extraction.KINDS):
        for _ in range(2_000):
            if found := [each async for each in client.memories.list(scope=Matching(user_id="ada"))]:
                break
            await asyncio.sleep(0.05)
    assert [memory.provenance.session_id for memory in found] == ["s"]
    [snapshot] = await snapshots(client)
    assert (runs([snapshot]), snapshot.extractions[0].state) == ([(1, 1, "idle")], "done")


async def test_an_idle_job_that_comes_too_early_comes_again(
    client: AsyncClient, settings: Settings, database: TestDatabase, project_id: UUID
) -> None:
    await client.sessions.record_turn(turns(1)[0], scope=ADA)
    [before] = read_jobs(database, project_id)
    with psycopg.connect(database.operator_url) as connection:
        connection.execute(
            "UPDATE procrastinate.procrastinate_jobs SET scheduled_at = now() WHERE id = %s", [before["id"]]
        )
    async with worker(settings, *extraction.KINDS):
        await until(lambda: [job["id"] for job in read_jobs(database, project_id)] != [before["id"]])
    [after] = read_jobs(database, project_id)
    assert (after["scheduled_at"], after["status"]) == (before["scheduled_at"], "todo")
    assert await snapshots(client) == []


async def test_each_turn_is_in_one_snapshot_with_50_writers(client: AsyncClient) -> None:
    await set_policy(client, turn_count=7, topic_shift=None)
    await asyncio.gather(*(client.sessions.record_turn(turn, scope=ADA) for turn in turns(50)))
    await client.sessions.promote(ADA)
    covered = [
        number
        for each in await snapshots(client)
        for number in range(each.from_turn_seq, each.to_turn_seq + 1)
    ]
    assert sorted(covered) == list(range(1, 51))


async def test_a_failed_extraction_is_told(
    client: AsyncClient, settings: Settings, database: TestDatabase, project_id: UUID
) -> None:
    async def refuse(*arguments: object) -> None:
        raise StepError(FailureClass.CONTENT, "no")

    kind = JobKind("extract", refuse, on_failure=extraction.note_failed)
    await set_policy(client, kinds=["semantic"])
    await client.sessions.record_turn(turns(1)[0], scope=ADA)
    await client.sessions.promote(ADA)
    async with worker(settings, kind):
        await until(lambda: "failed" in states(database, project_id))
    status = await client.sessions.get_extraction_status(ADA)
    assert (status.last_turn_seq, status.promoted_turn_seq) == (1, 1)
    [progress] = status.kinds
    assert (progress.extracted_turn_seq, progress.failed_snapshots) == (0, 1)
    assert progress.last_failure_class == "content"


async def test_killed_workers_lose_and_double_nothing(
    client: AsyncClient, database: TestDatabase, project_id: UUID, tmp_path: Path
) -> None:
    await set_policy(client, turn_count=2, kinds=["semantic"], topic_shift=None)
    for number in range(24):
        content = f"I like the town number {number * 7919} near the river {number * 104729}."
        await client.sessions.record_turn(NewTurn(role="user", content=content), scope=ADA)
    environment = environment_of(
        {"database_url": database.app_url, "operator_url": database.operator_url, "worker_lease": 1.5}
    )
    for kill in range(2):
        waiting = len(read_jobs(database, project_id))
        with started(tmp_path / str(kill), "work", **environment) as program:
            await until(lambda waiting=waiting: len(read_jobs(database, project_id)) < max(waiting - 2, 2))  # type: ignore[misc]
            program.process.kill()
            program.process.wait()
    with started(tmp_path / "last", "work", **environment):
        await until(lambda: [job["task_name"] for job in read_jobs(database, project_id)] == ["promote_idle"])
    status = await client.sessions.get_extraction_status(ADA)
    assert [(kind.extracted_turn_seq, kind.failed_snapshots) for kind in status.kinds] == [(24, 0)]
    contents = [memory.content async for memory in client.memories.list(scope=Matching(user_id="ada"))]
    assert len(contents) == len(set(contents)) == 24


async def test_waiting_returns_when_everything_said_is_extracted(
    client: AsyncClient, settings: Settings
) -> None:
    memory = AsyncMemory(client=client).bind(MemoryRequestContext(user_id="ada"))
    for session_id in ("one", "two"):
        await memory.record_turn(
            role="user", content=f"I like tea number {session_id}.", session_id=session_id
        )
    async with worker(settings, *extraction.KINDS):
        await memory.wait_for_extraction(timeout=120)
    assert len([each async for each in client.sessions.list_snapshots()]) == 2
    for session_id in ("one", "two"):
        status = await client.sessions.get_extraction_status(Scope(user_id="ada", session_id=session_id))
        assert [kind.extracted_turn_seq for kind in status.kinds] == [1, 1, 1, 1]


async def test_waiting_without_a_worker_tells_what_is_pending(client: AsyncClient) -> None:
    await set_policy(client, kinds=["semantic"])
    memory = AsyncMemory(client=client).bind(MemoryRequestContext(user_id="ada", session_id="s"))
    await memory.record_turn(role="user", content="I like tea.")
    with pytest.raises(
        DeadlineExceededError, match=r"semantic is at turn 0 of 1 \(1 snapshots pending, 0 failed\)"
    ):
        await memory.wait_for_extraction(timeout=5)


async def test_of_a_snapshot_that_lost_a_turn_the_rest_is_read_again(
    client: AsyncClient, database: TestDatabase, project_id: UUID, settings: Settings
) -> None:
    await set_policy(client, turn_count=2, kinds=["episodic"])
    said = [NewTurn(role="user", content=text) for text in ("My code is 4711.", "I sail on Sunday.")]
    secret, _ = await client.sessions.batch_record_turns(said, scope=ADA)

    def is_read() -> bool:
        return all(job["task_name"] != "extract" for job in read_jobs(database, project_id))

    async with worker(settings, *extraction.KINDS):
        await until(is_read)
        assert (await client.sessions.delete_turn(secret.turn.turn_id)).memories == 1
        await until(is_read)
    [episode] = [each async for each in client.memories.list()]
    assert episode.content == "user: I sail on Sunday."
    assert [each.summary for each in await snapshots(client)] == ["I sail on Sunday."]
