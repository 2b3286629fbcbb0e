"""Operations: work that goes on when its call is over, waited for, ended, and told about when it fails."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo import AsyncClient
from ricordo.errors import (
    MemoryAuthError,
    MemoryBadRequestError,
    NotFoundError,
    OperationCancelledError,
)
from ricordo.models import Matching, MemoryChanges, Scope, SessionRange, SpokenTurn
from ricordo_server.app import housekeeping
from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.domain.call import Call
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.domain.principal import HOUSEKEEPER
from ricordo_server.extraction.builtin import BuiltinExtractor
from ricordo_server.jobs import operations
from ricordo_server.server import open_services, serving
from tests.fixtures.database import TestDatabase
from tests.jobs.queue import PATIENCE_SECONDS, read_jobs, states, until, worker

ANN = Scope(user_id="ann")
FACTS = ["I live in Rome.", "I drink green tea."]


@pytest.fixture
async def client(service_target: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target) as opened:
        yield opened


async def contents(client: AsyncClient) -> list[str]:
    return sorted([memory.content async for memory in client.memories.list()])


async def test_facts_are_made_memories_when_a_worker_comes(client: AsyncClient, settings: Settings) -> None:
    handle = await client.extraction.generate(facts=FACTS, scope=ANN, wait=False)
    assert (await handle.done(), await contents(client)) == (False, [])
    async with worker(settings, *operations.KINDS):
        made = await handle.result(timeout=60)
    assert [each.memory.content for each in made.memories] == FACTS
    assert await contents(client) == sorted(FACTS)


async def test_documents_are_distilled_when_a_worker_comes(client: AsyncClient, settings: Settings) -> None:
    handle = await client.extraction.generate(facts=FACTS, scope=ANN, kinds=["document"], wait=False)
    async with worker(settings, *operations.KINDS):
        made = await handle.result(timeout=60)
    assert [(each.memory.key, each.memory.content) for each in made.memories] == [
        ("/general.md", "\n".join(FACTS))
    ]
    assert await contents(client) == ["\n".join(FACTS)]


async def test_an_operation_outlives_the_server_that_took_it(settings: Settings) -> None:
    operation_id = ""
    for _ in range(2):
        async with (
            open_services(settings, pool_size=settings.pool_size) as services,
            serving(settings, services) as running,
            AsyncClient(f"127.0.0.1:{running.port}") as client,
        ):
            if not operation_id:
                started = await client.extraction.generate(facts=FACTS, scope=ANN, wait=False)
                operation_id = started.operation_id
                continue
            async with worker(settings, *operations.KINDS):
                found = await client.operations.wait(operation_id, timeout=60)
    assert found.generation
    assert [each.memory.content for each in found.generation.memories] == FACTS


async def test_the_result_is_that_of_a_call_that_waits(client: AsyncClient, settings: Settings) -> None:
    turns = [SpokenTurn(role="user", content="I moved to Berlin last week. I like tea.")]
    handle = await client.extraction.generate(
        turns=turns, scope=ANN, kinds=["semantic", "episodic"], wait=False
    )
    async with worker(settings, *operations.KINDS):
        made = await handle.result(timeout=60)
    waited = await client.extraction.generate(
        turns=turns, scope=Scope(user_id="bob"), kinds=["semantic", "episodic"]
    )
    assert [(each.action, each.memory.kind, each.memory.content) for each in made.memories] == [
        (each.action, each.memory.kind, each.memory.content) for each in waited.memories
    ]


async def test_the_result_shows_what_was_made_and_nothing_of_what_was_purged(
    client: AsyncClient, settings: Settings
) -> None:
    handle = await client.extraction.generate(facts=FACTS, scope=ANN, wait=False)
    async with worker(settings, *operations.KINDS):
        made = await handle.result(timeout=60)
    changed, purged = (each.memory.memory_id for each in made.memories)
    await client.memories.update(changed, MemoryChanges(content="I live in Oslo."))
    await client.memories.delete(purged, purge=True)
    found = await client.operations.get(handle.operation_id)
    assert found.generation
    assert [each.memory.content for each in found.generation.memories] == FACTS[:1]


async def test_what_was_cancelled_writes_nothing(
    client: AsyncClient, settings: Settings, project_id: UUID, database: TestDatabase
) -> None:
    handle = await client.extraction.generate(facts=FACTS, scope=ANN, wait=False)
    await handle.cancel()
    async with worker(settings, *operations.KINDS):
        await until(lambda: not read_jobs(database, project_id))
    assert await contents(client) == []
    with pytest.raises(OperationCancelledError, match="OPERATION_CANCELLED"):
        await handle.result()


async def test_what_is_cancelled_under_way_leaves_nothing_by_halves(
    client: AsyncClient,
    settings: Settings,
    project_id: UUID,
    database: TestDatabase,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()
    extract = BuiltinExtractor.extract

    async def slow(self: BuiltinExtractor, *given: Any) -> object:
        reached.set()
        await go_on.wait()
        return await extract(self, *given)

    monkeypatch.setattr(BuiltinExtractor, "extract", slow)
    turns = [SpokenTurn(role="user", content="I live in Rome.")]
    handle = await client.extraction.generate(turns=turns, scope=ANN, wait=False)
    async with worker(settings, *operations.KINDS):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await reached.wait()
        await handle.cancel()
        go_on.set()
        await until(lambda: not read_jobs(database, project_id))
    assert await contents(client) == []


async def test_an_operation_that_is_over_cannot_be_cancelled(client: AsyncClient, settings: Settings) -> None:
    handle = await client.extraction.generate(facts=FACTS, scope=ANN, wait=False)
    async with worker(settings, *operations.KINDS):
        await handle.result(timeout=60)
    cancelled = await handle.cancel()
    assert (cancelled.error, len(cancelled.generation.memories if cancelled.generation else ())) == (None, 2)


async def test_what_cannot_succeed_ends_with_what_the_call_would_have_raised(
    client: AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: BuiltinExtractor, *given: object) -> object:
        raise StepError(FailureClass.CONTENT, "filtered")

    monkeypatch.setattr(BuiltinExtractor, "extract", refuse)
    turns = [SpokenTurn(role="user", content="I live in Rome.")]
    handle = await client.extraction.generate(turns=turns, scope=ANN, wait=False)
    async with worker(settings, *operations.KINDS):
        with pytest.raises(MemoryBadRequestError, match="EXTRACTION_FAILED: filtered"):
            await handle.result(timeout=60)


async def test_what_may_succeed_later_is_tried_again_and_shows_its_failures(
    client: AsyncClient,
    settings: Settings,
    project_id: UUID,
    database: TestDatabase,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(self: BuiltinExtractor, *given: object) -> object:
        raise StepError(FailureClass.CREDENTIAL, "the key is refused")

    monkeypatch.setattr(BuiltinExtractor, "extract", fail)
    turns = [SpokenTurn(role="user", content="I live in Rome.")]
    handle = await client.extraction.generate(turns=turns, scope=ANN, wait=False)
    async with worker(settings, *operations.KINDS):
        await until(
            lambda: [job["failure_class"] for job in read_jobs(database, project_id)] == ["CREDENTIAL"]
        )
        await until(lambda: states(database, project_id) == ["todo"])
    found = await client.operations.get(handle.operation_id)
    assert (found.done, found.failed_attempts, found.failure_class) == (False, 1, "credential")


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (StepError(FailureClass.TRANSIENT, "away"), "EXTRACTOR_UNAVAILABLE"),
        (TimeoutError(), "DEADLINE_EXCEEDED"),
        (RuntimeError("a bug"), "INTERNAL"),
        (None, "INTERNAL"),
    ],
)
async def test_who_gives_an_operation_up_says_why(cause: Exception | None, reason: str) -> None:
    assert operations.explain(cause).reason == reason


async def test_a_session_is_asked_for_before_the_work(client: AsyncClient) -> None:
    nowhere = SessionRange(scope=Scope(user_id="ann", session_id="nowhere"))
    with pytest.raises(NotFoundError, match="SESSION_NOT_FOUND"):
        await client.extraction.generate(session=nowhere, wait=False)


async def test_a_dry_run_is_waited_for(client: AsyncClient) -> None:
    with pytest.raises(MemoryBadRequestError, match="a dry run"):
        await client.extraction.generate(facts=FACTS, scope=ANN, dry_run=True, wait=False)


async def test_the_same_request_id_starts_one_operation(client: AsyncClient) -> None:
    handles = [
        await client.extraction.generate(facts=FACTS, scope=ANN, wait=False, request_id="once")
        for _ in range(2)
    ]
    assert handles[0].operation_id == handles[1].operation_id
    assert len([each async for each in client.operations.list()]) == 1


async def test_a_user_sees_and_ends_its_own_operations_only(client: AsyncClient) -> None:
    anns = await client.extraction.generate(facts=FACTS, scope=ANN, wait=False)
    bobs = await client.acting_as("bob").extraction.generate(
        facts=FACTS, scope=Scope(user_id="bob"), wait=False
    )
    bob = client.acting_as("bob")
    assert [each.operation_id async for each in bob.operations.list()] == [bobs.operation_id]
    for ask in (bob.operations.get, bob.operations.cancel, bob.operations.wait):
        with pytest.raises(NotFoundError, match="OPERATION_NOT_FOUND"):
            await ask(anns.operation_id)
    with pytest.raises(MemoryAuthError):
        await bob.extraction.generate(facts=FACTS, scope=ANN, wait=False)


async def test_operations_are_listed_by_whose_they_are_newest_first(client: AsyncClient) -> None:
    for name in ("ann", "bob", "ann"):
        await client.extraction.generate(facts=FACTS, scope=Scope(user_id=name), wait=False)
    listed = [each async for each in client.operations.list(page_size=1)]
    assert [each.scope.user_id for each in listed] == ["ann", "bob", "ann"]
    assert listed[0].create_time > listed[2].create_time
    assert [each.scope.user_id async for each in client.operations.list(scope=Matching(user_id="bob"))] == [
        "bob"
    ]


async def test_operations_are_kept_for_a_week_after_their_end(
    client: AsyncClient, settings: Settings, database: TestDatabase, project_id: UUID
) -> None:
    young, old, endless = [
        (await client.extraction.generate(facts=FACTS, scope=ANN, wait=False)).operation_id for _ in range(3)
    ]
    with psycopg.connect(database.superuser_url) as connection:
        for name, column, days in (
            (young, "end_time", 6),
            (old, "end_time", 8),
            (endless, "create_time", 31),
        ):
            aged = f"UPDATE ricordo.operation SET {column} = now() - %s WHERE operation_id = %s"
            connection.execute(aged, [timedelta(days=days), name])
    async with open_services(settings, pool_size=2) as services:
        await sweep(services)
    assert [each.operation_id async for each in client.operations.list()] == [young]


async def sweep(services: Services) -> None:
    deadline = asyncio.get_running_loop().time() + 600
    await housekeeping.sweep(services, Call(HOUSEKEEPER, deadline))
