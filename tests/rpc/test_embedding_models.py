"""The embedding models of a project: prepared, switched to, dropped, while reads and writes go on."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from ricordo import AsyncClient, errors, models
from ricordo_server.app.completion import complete_project
from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.db.migrations import register_embedding_model
from ricordo_server.server import open_services, serving
from tests.fixtures.database import MODEL, TestDatabase, make_project

ANN = models.Scope(user_id="ann")
SESSION = models.Scope(user_id="ann", session_id="s")
State = models.EmbeddingModelState
OLD, NEW = MODEL.name, "hashing-32"


@pytest.fixture
async def services(settings: Settings, database: TestDatabase) -> AsyncIterator[Services]:
    """Of a server that starts before the second model comes to the installation."""
    async with open_services(settings, pool_size=settings.pool_size) as opened:
        register_embedding_model(database.superuser_url, NEW, 32, {"provider": "hashing", "dimension": 32})
        register_embedding_model(database.superuser_url, "lost", 32, {"provider": "openai"})
        yield opened


@pytest.fixture
async def client(settings: Settings, services: Services) -> AsyncIterator[AsyncClient]:
    async with serving(settings, services) as running, AsyncClient(f"127.0.0.1:{running.port}") as opened:
        yield opened


async def complete(services: Services, project_id: UUID) -> None:
    await complete_project(services, project_id, seconds=300)


async def write(client: AsyncClient, content: str) -> models.Memory:
    return await client.memories.create(models.NewMemory(kind="semantic", content=content, scope=ANN))


async def status(client: AsyncClient, name: str) -> models.EmbeddingModel:
    return next(model for model in await client.project.list_embedding_models() if model.name == name)


async def find(client: AsyncClient, query: str) -> list[str]:
    """By vectors alone: a row without one of the active model is not found."""
    found = await client.memories.search(query, mode="semantic", top_k=200, include_embedding=True)
    return [hit.memory.content for hit in found.hits]


async def swap(client: AsyncClient, services: Services, project_id: UUID) -> None:
    await client.project.register_embedding_model(NEW)
    await complete(services, project_id)
    await client.project.switch_embedding_model(NEW)


async def test_a_project_begins_with_the_default_model(client: AsyncClient) -> None:
    await write(client, "green tea")
    active, new = await status(client, OLD), await status(client, NEW)
    assert (active.state, active.done_count, active.total_count) == (State.ACTIVE, 1, 1)
    assert (new.state, new.done_count, new.dimension) == (State.AVAILABLE, 0, 32)


async def test_a_registered_model_is_prepared_with_progress(
    client: AsyncClient, services: Services, project_id: UUID
) -> None:
    await write(client, "green tea")
    await client.sessions.record_turn(models.NewTurn(role="user", content="black tea"), scope=SESSION)
    registered = await client.project.register_embedding_model(NEW)
    assert (registered.state, registered.done_count, registered.total_count) == (State.PREPARING, 0, 2)
    await write(client, "white tea")  # by both models at once
    assert (await status(client, NEW)).done_count == 1
    await complete(services, project_id)
    ready = await status(client, NEW)
    assert (ready.state, ready.done_count, ready.total_count) == (State.READY, 3, 3)


async def test_reads_stay_on_the_old_model_until_the_switch(
    client: AsyncClient, services: Services, project_id: UUID
) -> None:
    await write(client, "green tea")
    await client.project.register_embedding_model(NEW)
    await complete(services, project_id)

    async def read() -> tuple[str, int]:
        found = await client.memories.search("tea", mode="semantic", include_embedding=True)
        [hit] = found.hits
        return hit.memory.embedding_model, len(hit.embedding or ())

    assert await read() == (OLD, 64)
    await client.project.switch_embedding_model(NEW)
    assert await read() == (NEW, 32)
    await client.project.switch_embedding_model(OLD)
    assert await read() == (OLD, 64)


async def test_turns_and_contexts_are_read_by_the_new_model(
    client: AsyncClient, services: Services, project_id: UUID
) -> None:
    await client.sessions.record_turn(models.NewTurn(role="user", content="black tea"), scope=SESSION)
    await swap(client, services, project_id)
    found = await client.sessions.search_turns("tea", mode="semantic", include_embedding=True)
    assert [len(hit.embedding or ()) for hit in found.hits] == [32]
    sources = [models.SourceSpec(source="stm", mode="semantic")]
    context = await client.context.build("tea", sources=sources, include_memories=True)
    assert [chunk.item.content for chunk in context.chunks] == ["black tea"]


async def test_a_query_embedding_is_of_the_active_model(
    client: AsyncClient, services: Services, project_id: UUID
) -> None:
    await write(client, "green tea")
    await swap(client, services, project_id)
    assert (await client.memories.search(query_embedding=[1.0] * 32)).hits
    with pytest.raises(errors.MemoryBadRequestError) as refused:
        await client.memories.search(query_embedding=[1.0] * 64)
    assert (refused.value.reason, refused.value.metadata["dimension"]) == ("INVALID_EMBEDDING", "32")


async def test_another_process_notices_the_switch(
    settings: Settings, client: AsyncClient, services: Services, project_id: UUID
) -> None:
    """It has embedded the query with the model it knew, and does so again with the right one."""
    await write(client, "green tea")
    async with (
        open_services(settings, pool_size=2) as others,
        serving(settings, others) as running,
        AsyncClient(f"127.0.0.1:{running.port}") as other,
    ):
        assert await find(other, "tea") == ["green tea"]
        await swap(client, services, project_id)
        assert await find(other, "tea") == ["green tea"]


async def test_a_switch_that_would_lose_rows_is_refused_unless_forced(client: AsyncClient) -> None:
    await write(client, "green tea")
    await client.project.register_embedding_model(NEW)
    with pytest.raises(errors.EmbeddingModelNotReadyError) as refused:
        await client.project.switch_embedding_model(NEW)
    assert refused.value.metadata["missing"] == "1"
    assert await find(client, "tea") == ["green tea"]
    forced = await client.project.switch_embedding_model(NEW, force=True)
    assert forced.state is State.ACTIVE
    assert await find(client, "tea") == []


@pytest.mark.parametrize("force", [False, True])
async def test_a_model_that_is_not_prepared_is_no_target(client: AsyncClient, force: bool) -> None:
    with pytest.raises(errors.EmbeddingModelNotReadyError):
        await client.project.switch_embedding_model(NEW, force=force)


async def test_the_old_model_is_written_along_until_it_is_dropped(
    client: AsyncClient, services: Services, project_id: UUID
) -> None:
    await swap(client, services, project_id)
    await write(client, "green tea")
    assert (await status(client, OLD)).state is State.READY
    dropped = await client.project.drop_embedding_model(OLD)
    assert (dropped.state, dropped.done_count) == (State.REMOVING, 1)
    await complete(services, project_id)
    gone = await status(client, OLD)
    assert (gone.state, gone.done_count) == (State.AVAILABLE, 0)
    assert await find(client, "tea") == ["green tea"]


async def test_the_active_model_is_not_dropped(client: AsyncClient) -> None:
    with pytest.raises(errors.EmbeddingModelInUseError) as refused:
        await client.project.drop_embedding_model(OLD)
    assert refused.value.metadata["model"] == OLD


async def test_beside_the_active_model_there_is_room_for_one(
    client: AsyncClient, database: TestDatabase
) -> None:
    register_embedding_model(
        database.superuser_url, "hashing-16", 16, {"provider": "hashing", "dimension": 16}
    )
    await client.project.register_embedding_model(NEW)
    with pytest.raises(errors.EmbeddingModelInUseError) as refused:
        await client.project.register_embedding_model("hashing-16")
    assert refused.value.metadata["model"] == NEW


async def test_registering_again_changes_nothing(client: AsyncClient) -> None:
    assert (await client.project.register_embedding_model(OLD)).state is State.ACTIVE
    first = await client.project.register_embedding_model(NEW)
    assert await client.project.register_embedding_model(NEW) == first


async def test_an_unknown_model_is_not_found(client: AsyncClient) -> None:
    with pytest.raises(errors.NotFoundError) as refused:
        await client.project.register_embedding_model("nowhere")
    assert refused.value.reason == "EMBEDDING_MODEL_NOT_FOUND"
    assert NEW in refused.value.metadata["known"]


async def test_a_model_that_this_server_cannot_load_is_refused(client: AsyncClient) -> None:
    with pytest.raises(errors.ServiceUnavailableError, match="lost"):
        await client.project.register_embedding_model("lost")
    assert (await status(client, "lost")).state is State.AVAILABLE


async def test_only_a_service_may(settings: Settings, services: Services, project_id: UUID) -> None:
    async with (
        serving(settings, services) as running,
        AsyncClient(f"127.0.0.1:{running.port}", token=f"development:{project_id}:ann") as bound,
    ):
        calls = [
            bound.project.list_embedding_models(),
            *(
                change(NEW)
                for change in (
                    bound.project.register_embedding_model,
                    bound.project.switch_embedding_model,
                    bound.project.drop_embedding_model,
                )
            ),
        ]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers] == [errors.MemoryAuthError] * 4


async def test_projects_are_switched_one_by_one(
    settings: Settings, client: AsyncClient, services: Services, project_id: UUID, database: TestDatabase
) -> None:
    await swap(client, services, project_id)
    other = make_project(database)
    async with (
        serving(settings, services) as running,
        AsyncClient(f"127.0.0.1:{running.port}", token=f"development:{other}") as beside,
    ):
        assert (await status(beside, OLD)).state is State.ACTIVE
        assert (await status(beside, NEW)).state is State.AVAILABLE


WORDS = "green black white red tea coffee water milk cup pot leaf bean sugar honey lemon mint"
FIRST_ROWS = 60


@dataclass
class Load:
    """Readers and writers that go on until `over`; what they did, and what failed."""

    client: AsyncClient
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    over: bool = False
    reads: int = 0
    written: int = 0
    failures: list[BaseException] = field(default_factory=list)

    def sentence(self) -> str:
        return " ".join(self.chance.choices(WORDS.split(), k=6))

    async def go_on(self, step: Callable[[], Awaitable[None]]) -> None:
        while not self.over:
            try:
                await step()
            except (errors.RicordoError, AssertionError) as error:
                self.failures.append(error)

    async def read(self) -> None:
        found = await self.client.memories.search(self.sentence(), mode="semantic", top_k=5)
        assert len(found.hits) == 5
        turns = await self.client.sessions.search_turns(self.sentence(), top_k=5)
        assert turns.report.effective_mode is models.SearchMode.HYBRID
        context = await self.client.context.build(self.sentence())
        assert not [outcome for outcome in context.source_outcomes if outcome.error]
        self.reads += 1

    async def write(self) -> None:
        memory = await write(self.client, self.sentence())
        await self.client.memories.update(memory.memory_id, models.MemoryChanges(content=self.sentence()))
        turn = models.NewTurn(role="user", content=self.sentence())
        await self.client.sessions.record_turn(turn, scope=SESSION)
        self.written += 1


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0.02)


async def swap_under(load: Load) -> None:
    """Register, wait, switch, go on for a while, drop, wait."""
    project = load.client.project

    async def is_(name: str, state: State) -> bool:
        return (await status(load.client, name)).state is state

    await project.register_embedding_model(NEW)
    await until(lambda: is_(NEW, State.READY))
    await project.switch_embedding_model(NEW)
    enough = load.written + 5, load.reads + 5

    async def went_on() -> bool:
        return load.written >= enough[0] and load.reads >= enough[1]

    await until(went_on)
    await project.drop_embedding_model(OLD)
    await until(lambda: is_(OLD, State.AVAILABLE))


async def test_a_swap_under_load_fails_no_read_and_loses_no_vector(
    client: AsyncClient, services: Services, project_id: UUID
) -> None:
    load = Load(client)
    for _ in range(FIRST_ROWS):
        await write(client, load.sentence())
    steps = [load.read, load.read, load.write, load.write, lambda: complete(services, project_id)]
    tasks = [asyncio.create_task(load.go_on(step)) for step in steps]
    try:
        await swap_under(load)
    finally:
        load.over = True
        await asyncio.gather(*tasks)
    await complete(services, project_id)

    assert load.failures == []
    new = await status(client, NEW)
    assert (new.state, new.done_count, new.refused_count) == (State.ACTIVE, new.total_count, 0)
    rows = [memory async for memory in client.memories.list()]
    turns = [turn async for turn in client.sessions.list_turns()]
    assert len(rows) == FIRST_ROWS + load.written
    assert {memory.embedding_model for memory in rows} == {NEW}
    assert {turn.has_embedding for turn in turns} == {True}
