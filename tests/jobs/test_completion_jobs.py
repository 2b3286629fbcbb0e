"""The background completes: after a change of models at once, and what lacks vectors now and then."""

import time
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from ricordo import AsyncClient, models
from ricordo_server.app import completion
from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.db.migrations import register_embedding_model
from ricordo_server.domain.call import Call
from ricordo_server.domain.ports import EmbeddingError
from ricordo_server.domain.principal import HOUSEKEEPER, worker_of
from ricordo_server.embedding.hashing import HashingEmbedder
from ricordo_server.jobs.completion import KINDS
from ricordo_server.server import open_services, serving
from tests.fixtures.database import MODEL, TestDatabase
from tests.jobs.queue import read_jobs, worker

NEW = "hashing-32"
State = models.EmbeddingModelState
ONLY_DEFERRED = KINDS[:1]


@pytest.fixture
async def services(settings: Settings, database: TestDatabase) -> AsyncIterator[Services]:
    register_embedding_model(database.superuser_url, NEW, 32, {"provider": "hashing", "dimension": 32})
    async with open_services(settings, pool_size=4) as opened:
        yield opened


@pytest.fixture
async def client(settings: Settings, services: Services) -> AsyncIterator[AsyncClient]:
    async with serving(settings, services) as running, AsyncClient(f"127.0.0.1:{running.port}") as opened:
        yield opened


async def write(client: AsyncClient) -> models.Memory:
    return await client.memories.create(
        models.NewMemory(kind="semantic", content="green tea", scope=models.Scope(user_id="ann"))
    )


async def wait_for(client: AsyncClient, name: str, state: State) -> None:
    for _ in range(6_000):
        found = {model.name: model.state for model in await client.project.list_embedding_models()}
        if found[name] is state:
            return
    raise AssertionError(found)


def tasks(database: TestDatabase, project_id: UUID) -> list[str]:
    return [job["task_name"] for job in read_jobs(database, project_id)]


async def test_a_worker_prepares_a_model_and_removes_one(settings: Settings, client: AsyncClient) -> None:
    await write(client)
    async with worker(settings, *ONLY_DEFERRED):
        await client.project.register_embedding_model(NEW)
        await wait_for(client, NEW, State.READY)
        await client.project.switch_embedding_model(NEW)
        await client.project.drop_embedding_model(MODEL.name)
        await wait_for(client, MODEL.name, State.AVAILABLE)


async def test_changes_wait_for_one_run_together(
    client: AsyncClient, database: TestDatabase, project_id: UUID
) -> None:
    await client.project.register_embedding_model(NEW)
    await client.project.drop_embedding_model(NEW)
    assert tasks(database, project_id) == [completion.TASK]


async def test_a_run_that_was_too_short_asks_for_another(
    client: AsyncClient, services: Services, database: TestDatabase, project_id: UUID
) -> None:
    await write(client)
    call = Call(worker_of(project_id), time.monotonic() + 60)
    await completion.complete_and_go_on(services, call, seconds=60)
    assert tasks(database, project_id) == []
    await completion.complete_and_go_on(services, call, seconds=0)
    assert tasks(database, project_id) == [completion.TASK]


async def test_a_look_at_all_asks_for_a_run_only_where_something_is_missing(
    client: AsyncClient,
    services: Services,
    database: TestDatabase,
    project_id: UUID,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def look() -> list[str]:
        await completion.request_where_incomplete(services, Call(HOUSEKEEPER, time.monotonic() + 300))
        return tasks(database, project_id)

    await write(client)
    assert await look() == []

    async def be_away(*_: object) -> None:
        raise EmbeddingError("away", retryable=True)

    with monkeypatch.context() as away:
        away.setattr(HashingEmbedder, "embed", be_away)
        assert not (await write(client)).has_embedding
    assert await look() == [completion.TASK]
