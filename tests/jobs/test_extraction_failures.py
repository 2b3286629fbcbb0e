"""Extractions in the background by a model that fails: given up, listed, tried again; nothing of them is lost."""

from collections.abc import AsyncIterator
from uuid import UUID

import psycopg
import pytest

from ricordo import AsyncClient
from ricordo.errors import NotFoundError
from ricordo.models import ExtractionFailure, ExtractionPolicy, Matching, NewTurn, ProjectChanges, Scope
from ricordo_server.config import Settings
from ricordo_server.db.jobs import MOST_LOST_WORKERS
from ricordo_server.jobs import extraction
from ricordo_server.server import open_services
from ricordo_server.worker import reclaim
from tests.fixtures.database import TestDatabase
from tests.fixtures.fake_chat import FakeChat, Reply, fact, items, reading_with
from tests.jobs.queue import read_jobs, states, until, worker

ANN = Scope(user_id="ann", session_id="s")


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake)


@pytest.fixture
async def client(service_target: str) -> AsyncIterator[AsyncClient]:
    """One turn waits to be extracted."""
    async with AsyncClient(service_target) as opened:
        await opened.project.update(
            ProjectChanges(extraction=ExtractionPolicy(kinds=["semantic"], idle=None))
        )
        await opened.sessions.record_turn(NewTurn(role="user", content="I live in Rome."), scope=ANN)
        await opened.sessions.promote(ANN)
        yield opened


async def failures(client: AsyncClient, user_id: str = "ann") -> list[ExtractionFailure]:
    return [each async for each in client.extraction.list_failures(scope=Matching(user_id=user_id))]


async def contents(client: AsyncClient) -> list[str]:
    return [each.content async for each in client.memories.list()]


async def test_what_the_model_refuses_is_listed_and_tried_again_when_asked(
    client: AsyncClient, settings: Settings, fake: FakeChat, database: TestDatabase, project_id: UUID
) -> None:
    fake.script = [Reply(status=400)]
    async with worker(settings, *extraction.KINDS):
        await until(lambda: "failed" in states(database, project_id))
        [failure] = await failures(client)
        assert (failure.kind, failure.failure_class, failure.attempts) == ("semantic", "content", 1)
        assert failure.error == "the extraction endpoint answered HTTP 400"
        assert (failure.scope, failure.from_turn_seq, failure.to_turn_seq) == (ANN, 1, 1)
        fake.answer = lambda request: items(fact("I live in Rome.", 1, "I live in Rome."))
        await client.extraction.retry_failure(failure.snapshot_id, failure.kind)
        await until(lambda: not waiting(database, project_id))
    assert await failures(client) == []
    assert await contents(client) == ["I live in Rome."]


def waiting(database: TestDatabase, project_id: UUID) -> list[str]:
    jobs = read_jobs(database, project_id)
    return [
        job["status"] for job in jobs if job["task_name"] == "extract" and job["status"] in ("todo", "doing")
    ]


async def test_passing_troubles_pass(
    client: AsyncClient, settings: Settings, fake: FakeChat, database: TestDatabase, project_id: UUID
) -> None:
    fake.script = [Reply(status=500), Reply(gone=True), Reply("no"), Reply(half=True)]
    fake.answer = lambda request: items(fact("I live in Rome.", 1, "I live in Rome."))
    async with worker(settings, *extraction.KINDS):
        await until(lambda: not waiting(database, project_id))
    assert await failures(client) == []
    assert await contents(client) == ["I live in Rome."]


async def test_of_a_reply_that_is_cut_the_complete_items_stay_and_the_rest_is_told(
    client: AsyncClient, settings: Settings, fake: FakeChat, database: TestDatabase, project_id: UUID
) -> None:
    whole = items(fact("I live in Rome.", 1, "I live in Rome."), fact("It is a city.", 1, "Rome")).content
    fake.answer = lambda request: Reply((whole or "")[:-40], "length")
    async with worker(settings, *extraction.KINDS):
        await until(lambda: not waiting(database, project_id))
    assert await contents(client) == ["I live in Rome."]
    [failure] = await failures(client)
    assert (failure.failure_class, "output_tokens" in failure.error) == ("content", True)


async def test_what_was_not_given_up_is_not_tried_again(client: AsyncClient) -> None:
    [snapshot] = [each async for each in client.sessions.list_snapshots()]
    with pytest.raises(NotFoundError):
        await client.extraction.retry_failure(snapshot.snapshot_id, "semantic")
    assert await failures(client, "bob") == []


async def test_what_takes_its_worker_with_it_is_listed_and_tried_again_when_asked(
    client: AsyncClient, settings: Settings, fake: FakeChat, database: TestDatabase, project_id: UUID
) -> None:
    taken = "UPDATE procrastinate.procrastinate_jobs SET status = 'doing' WHERE queue_name = %s AND status = 'todo'"
    async with open_services(settings, pool_size=2) as services:
        for _ in range(MOST_LOST_WORKERS + 1):
            with psycopg.connect(database.operator_url, autocommit=True) as connection:
                connection.execute(taken, [str(project_id)])
            await reclaim(services, extraction.KINDS, lease=30)
    [failure] = await failures(client)
    assert (failure.failure_class, failure.error) == ("transient", "the workers that tried it died")
    fake.answer = lambda request: items(fact("I live in Rome.", 1, "I live in Rome."))
    await client.extraction.retry_failure(failure.snapshot_id, failure.kind)
    async with worker(settings, *extraction.KINDS):
        await until(lambda: not waiting(database, project_id))
    assert await contents(client) == ["I live in Rome."]
