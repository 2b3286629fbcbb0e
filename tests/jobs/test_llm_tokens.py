"""The tokens that a project's models may use in a day: of GenerateMemories, and of extraction in the background."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo import AsyncClient
from ricordo.errors import RateLimitError
from ricordo.models import ExtractionPolicy, NewTurn, ProjectChanges, ProjectLimits, Scope, SessionRange
from ricordo_server.app import limiter
from ricordo_server.config import Settings
from ricordo_server.jobs import extraction
from tests.fixtures.database import TestDatabase
from tests.fixtures.fake_chat import FakeChat, Reply, fact, items, reading_with
from tests.jobs.queue import read_jobs, until, worker

ANN = Scope(user_id="ann", session_id="s")
REPLY = items(fact("I live in Rome.", 1, "I live in Rome.")).content


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a limit counts at the next call, and what is spent is written at once."""
    monkeypatch.setattr(limiter, "REFRESH_SECONDS", 0.0)


@pytest.fixture
def fake() -> Iterator[FakeChat]:
    with FakeChat() as server:
        server.answer = lambda request: Reply(REPLY, usage={"total_tokens": 70})
        yield server


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake)


@pytest.fixture
async def operator(service_target: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target, token="development:operator") as client:
        yield client


@pytest.fixture
async def client(service_target: str) -> AsyncIterator[AsyncClient]:
    """One turn of Ann is there, and not extracted."""
    async with AsyncClient(service_target) as opened:
        policy = ExtractionPolicy(kinds=["semantic"], idle=None)
        await opened.project.update(ProjectChanges(extraction=policy))
        await opened.sessions.record_turn(NewTurn(role="user", content="I live in Rome."), scope=ANN)
        yield opened


async def limit(operator: AsyncClient, project_id: UUID, tokens: int | None) -> None:
    await operator.admin.update_project_limits(str(project_id), ProjectLimits(llm_tokens_per_day=tokens))


async def used(operator: AsyncClient, project_id: UUID) -> int:
    return (await operator.admin.get_project_limits(str(project_id)))[1].llm_tokens


def extractions(database: TestDatabase, project_id: UUID) -> list[dict[str, Any]]:
    return [job for job in read_jobs(database, project_id) if job["task_name"] == "extract"]


async def test_what_begins_within_the_day_s_tokens_is_finished_and_the_next_is_refused(
    client: AsyncClient, operator: AsyncClient, fake: FakeChat, project_id: UUID
) -> None:
    await limit(operator, project_id, 50)
    generated = await client.extraction.generate(session=SessionRange(scope=ANN), kinds=["semantic"])
    assert [each.memory.content for each in generated.memories] == ["I live in Rome."]
    with pytest.raises(RateLimitError) as caught:
        await client.extraction.generate(session=SessionRange(scope=ANN), kinds=["semantic"])
    assert (caught.value.metadata["limit_name"], caught.value.metadata["limit"]) == (
        "llm_tokens_per_day",
        "50",
    )
    assert caught.value.retry_delay is not None
    assert timedelta(0) < caught.value.retry_delay <= timedelta(days=1)
    assert len(fake.requests) == 1


async def test_rules_use_no_tokens(client: AsyncClient, operator: AsyncClient, project_id: UUID) -> None:
    await limit(operator, project_id, 0)
    await client.project.update(ProjectChanges(extraction=ExtractionPolicy(endpoint="builtin")))
    assert (await client.extraction.generate(session=SessionRange(scope=ANN), kinds=["semantic"])).memories


async def test_the_background_counts_for_the_project(
    client: AsyncClient, operator: AsyncClient, settings: Settings, database: TestDatabase, project_id: UUID
) -> None:
    await client.sessions.promote(ANN)
    async with worker(settings, *extraction.KINDS):
        await until(lambda: not extractions(database, project_id))
    assert await used(operator, project_id) == 70


async def test_without_tokens_the_background_waits_until_midnight_and_loses_nothing(
    client: AsyncClient,
    operator: AsyncClient,
    settings: Settings,
    database: TestDatabase,
    project_id: UUID,
) -> None:
    await limit(operator, project_id, 0)
    day = datetime.now(UTC).date()
    await client.sessions.promote(ANN)
    async with worker(settings, *extraction.KINDS):
        await until(lambda: any(job["attempts"] for job in extractions(database, project_id)))
        await until(lambda: extractions(database, project_id)[0]["status"] == "todo")
    [job] = extractions(database, project_id)
    assert (job["failure_class"], job["error"]) == ("RATE_LIMIT", "RATE_LIMIT_EXCEEDED")
    assert job["scheduled_at"].astimezone(UTC).date() > day
    assert await used(operator, project_id) == 0
    await limit(operator, project_id, None)
    let_in(database, project_id)
    async with worker(settings, *extraction.KINDS):
        await until(lambda: not extractions(database, project_id))
    assert [each.content async for each in client.memories.list()] == ["I live in Rome."]


def let_in(database: TestDatabase, project_id: UUID) -> None:
    """As if it were midnight."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "UPDATE procrastinate.procrastinate_jobs SET scheduled_at = NULL WHERE queue_name = %s",
            [str(project_id)],
        )
