"""How long revisions are kept, what is said of them, and who still rests on them."""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

import grpc.aio
import psycopg
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import (
    retention_pb2,
    session_service_pb2,
    store_pb2,
    store_service_pb2,
    store_service_pb2_grpc,
)
from ricordo_server.app import housekeeping
from ricordo_server.config import Settings
from ricordo_server.domain.call import Call
from ricordo_server.domain.principal import HOUSEKEEPER
from ricordo_server.server import open_services
from tests.fixtures.calls import refusal
from tests.fixtures.database import TestDatabase
from tests.fixtures.generation import ANN, World

Options: TypeAlias = m.RevisionOptions
Retention: TypeAlias = retention_pb2.Retention
SEMANTIC = m.MEMORY_KIND_SEMANTIC
HOUR, ZERO = Duration(seconds=3_600), Duration()
Sweep = Callable[[], Any]


@pytest.fixture
def keep(channel: grpc.aio.Channel) -> Callable[..., Any]:
    """Sets how long the store keeps what."""

    async def update(**retention: Any) -> None:
        settings = store_pb2.StoreSettings(retention=Retention(**retention))
        request = store_service_pb2.UpdateStoreRequest(
            store=store_pb2.Store(store_id="default", settings=settings),
            update_mask=FieldMask(paths=["settings.retention"]),
        )
        await store_service_pb2_grpc.StoreServiceStub(channel).UpdateStore(request)

    return update


@pytest.fixture
def sweep(settings: Settings, database: TestDatabase) -> Sweep:
    async def run() -> None:
        async with open_services(settings, pool_size=2) as services:
            await housekeeping.sweep(services, Call(HOUSEKEEPER, time.monotonic() + 300))

    return run


async def create(world: World, options: Options | None = None, **fields: Any) -> m.Memory:
    memory = m.Memory(kind=SEMANTIC, **{"content": "one", "scope": ANN, **fields})
    request = ms.CreateMemoryRequest(memory=memory, revision_options=options)
    return (await world.memories.CreateMemory(request)).memory


async def update(
    world: World, memory_id: str, options: Options | None = None, content: str = "two"
) -> m.Memory:
    request = ms.UpdateMemoryRequest(
        memory=m.Memory(memory_id=memory_id, content=content),
        update_mask=FieldMask(paths=["content"]),
        revision_options=options,
    )
    return (await world.memories.UpdateMemory(request)).memory


async def revisions(world: World, memory_id: str, **labels: str) -> list[m.MemoryRevision]:
    request = ms.ListMemoryRevisionsRequest(memory_id=memory_id, labels=labels)
    return list((await world.memories.ListMemoryRevisions(request)).revisions)


async def numbers(world: World, memory_id: str, **labels: str) -> list[int]:
    return [each.memory.revision for each in await revisions(world, memory_id, **labels)]


def kept_for(revision: m.MemoryRevision) -> timedelta:
    """To the second."""
    kept = revision.expire_time.ToDatetime(tzinfo=UTC) - revision.revision_time.ToDatetime(tzinfo=UTC)
    return timedelta(seconds=round(kept.total_seconds()))


def stored_revisions(database: TestDatabase, project_id: UUID) -> list[int]:
    with psycopg.connect(database.superuser_url) as connection:
        rows = connection.execute(
            "SELECT revision FROM ricordo.memory_revision WHERE project_id = %s ORDER BY revision",
            [project_id],
        )
        return [row[0] for row in rows.fetchall()]


def age_revisions(database: TestDatabase, project_id: UUID, *ended: int) -> None:
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "UPDATE ricordo.memory_revision SET revision_expire_time = now() - interval '1 second'"
            " WHERE project_id = %s AND revision = ANY (%s)",
            [project_id, list(ended)],
        )


async def test_a_revision_is_kept_for_a_year(world: World) -> None:
    memory = await create(world)
    [revision] = await revisions(world, memory.memory_id)
    assert kept_for(revision) == timedelta(days=365)


async def test_a_store_and_then_a_call_say_for_how_long(world: World, keep: Callable[..., Any]) -> None:
    await keep(revision_ttl=HOUR)
    memory = await create(world)
    await update(world, memory.memory_id, Options(ttl=Duration(seconds=60)))
    assert [kept_for(each) for each in await revisions(world, memory.memory_id)] == [
        timedelta(minutes=1),
        timedelta(hours=1),
    ]


async def test_a_call_names_the_moment(world: World) -> None:
    moment = Timestamp(seconds=int(time.time()) + 100)
    memory = await create(world, Options(expire_time=moment))
    [revision] = await revisions(world, memory.memory_id)
    assert revision.expire_time == moment


@pytest.mark.parametrize("options", [Options(ttl=ZERO), None])
async def test_no_end_is_the_memory_s(
    world: World, keep: Callable[..., Any], options: Options | None
) -> None:
    await keep(revision_ttl=HOUR if options else ZERO)
    memory = await create(world, options)
    [revision] = await revisions(world, memory.memory_id)
    assert not revision.HasField("expire_time")


async def test_labels_are_found_by_all_of_them(world: World) -> None:
    memory = await create(world, Options(labels={"run": "7", "by": "bot"}))
    await update(world, memory.memory_id, Options(labels={"run": "7"}))
    first = (await revisions(world, memory.memory_id))[-1]
    assert dict(first.labels) == {"run": "7", "by": "bot"}
    assert await numbers(world, memory.memory_id, run="7") == [2, 1]
    assert await numbers(world, memory.memory_id, run="7", by="bot") == [1]
    assert await numbers(world, memory.memory_id, run="8") == []


async def test_every_write_takes_options(world: World) -> None:
    options = Options(labels={"run": "7"})
    memory = m.Memory(kind=SEMANTIC, content="x", scope=ANN, key="k")
    put = await world.memories.PutMemory(ms.PutMemoryRequest(memory=memory, revision_options=options))
    other = m.Memory(kind=SEMANTIC, content="y", scope=ANN)
    batch = ms.BatchCreateMemoriesRequest(memories=[other], revision_options=options)
    [created] = (await world.memories.BatchCreateMemories(batch)).results
    [stated] = (await world.state("I live in Rome.", revision_options=options)).memories
    [changed] = (await world.state("I live in Oslo.", revision_options=options)).memories
    assert changed.memory.memory_id == stated.memory.memory_id
    found = [
        await numbers(world, each.memory_id, run="7") for each in (put.memory, created.memory, stated.memory)
    ]
    assert found == [[1], [1], [2, 1]]


@pytest.mark.parametrize("by_call", [True, False])
async def test_what_is_not_kept_is_not_seen(world: World, keep: Callable[..., Any], by_call: bool) -> None:
    await keep(disable_revisions=not by_call)
    memory = await create(world, Options(disabled=True) if by_call else None)
    assert await numbers(world, memory.memory_id) == []
    missing = ms.GetMemoryRevisionRequest(memory_id=memory.memory_id, revision=1)
    assert (await refusal(world.memories.GetMemoryRevision(missing)))[1] == "REVISION_NOT_FOUND"
    back = ms.RollbackMemoryRequest(memory_id=memory.memory_id, target_revision=1)
    assert (await refusal(world.memories.RollbackMemory(back)))[1] == "REVISION_NOT_FOUND"


@pytest.mark.parametrize("options", [Options(disabled=False), Options(ttl=HOUR)])
async def test_a_call_keeps_what_its_store_would_not(
    world: World, keep: Callable[..., Any], options: Options
) -> None:
    await keep(disable_revisions=True)
    memory = await create(world, options)
    assert await numbers(world, memory.memory_id) == [1]


async def test_no_memory_has_no_revisions(world: World) -> None:
    call = world.memories.ListMemoryRevisions(ms.ListMemoryRevisionsRequest(memory_id="nobody"))
    assert (await refusal(call))[1] == "MEMORY_NOT_FOUND"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (Options(expire_time=Timestamp(seconds=1)), "revision_options.expire_time"),
        (Options(ttl=Duration(seconds=-1)), "revision_options.ttl"),
        (Options(labels={"": "x"}), "revision_options.labels"),
        (Options(labels={str(number): "x" for number in range(65)}), "revision_options.labels"),
    ],
)
async def test_bad_options_name_their_field(world: World, options: Options, field: str) -> None:
    memory = m.Memory(kind=SEMANTIC, content="x", scope=ANN)
    request = ms.CreateMemoryRequest(memory=memory, revision_options=options)
    assert (await refusal(world.memories.CreateMemory(request)))[2] == field


async def test_an_expired_revision_is_not_seen_and_then_swept(
    world: World, database: TestDatabase, project_id: UUID, sweep: Sweep
) -> None:
    memory = await create(world)
    await update(world, memory.memory_id)
    await update(world, memory.memory_id, content="three")
    age_revisions(database, project_id, 1, 3)
    assert await numbers(world, memory.memory_id) == [2]
    await sweep()
    # The memory stands at the third, so it stays, unseen.
    assert stored_revisions(database, project_id) == [2, 3]
    assert (await numbers(world, memory.memory_id), (await world.all())[0].content) == ([2], "three")


async def test_what_is_swept_is_used_no_more(
    world: World, database: TestDatabase, project_id: UUID, sweep: Sweep
) -> None:
    memory = await create(world, content="x" * 1_000)
    await update(world, memory.memory_id, content="y")
    age_revisions(database, project_id, 1)
    with psycopg.connect(database.superuser_url) as connection:
        used = "SELECT sum(stored_bytes) FROM ricordo.usage WHERE project_id = %s"
        before = connection.execute(used, [project_id]).fetchone()
        await sweep()
        after = connection.execute(used, [project_id]).fetchone()
    assert before
    assert after
    assert before[0] - after[0] >= 1_000


async def test_what_rests_on_a_turn_alone_goes_with_it_though_no_revision_is_kept(
    world: World, keep: Callable[..., Any], sweep: Sweep
) -> None:
    await keep(disable_revisions=True)
    [turn] = await world.say("I live in Rome.")
    await world.learn()
    await sweep()
    assert [memory.content for memory in await world.all()] == ["I live in Rome."]
    await world.sessions.DeleteTurn(session_service_pb2.DeleteTurnRequest(turn_id=turn.turn_id))
    assert await world.all() == []


async def test_what_rests_on_a_deleted_turn_is_taken_back_though_the_revision_before_has_ended(
    world: World, database: TestDatabase, project_id: UUID
) -> None:
    await world.say("I live in Rome.")
    await world.learn()
    [turn] = await world.say("I live in Oslo.")
    await world.learn()
    [memory] = await world.all()
    assert (memory.content, memory.revision) == ("I live in Oslo.", 2)
    age_revisions(database, project_id, 1)
    await world.sessions.DeleteTurn(session_service_pb2.DeleteTurnRequest(turn_id=turn.turn_id))
    assert [memory.content for memory in await world.all()] == ["I live in Rome."]


async def test_a_revision_shows_what_was_learned(world: World) -> None:
    await world.state("I live in Rome.")
    [generated] = (await world.state("I live in Oslo.")).memories
    await update(world, generated.memory.memory_id, content="Oslo it is.")
    found = await revisions(world, generated.memory.memory_id)
    assert [list(each.extracted_memories) for each in found] == [[], ["I live in Oslo."], ["I live in Rome."]]


async def test_an_expired_memory_is_nowhere_before_it_is_swept(
    world: World, database: TestDatabase, project_id: UUID
) -> None:
    memory = await create(world, ttl=HOUR)
    with psycopg.connect(database.superuser_url) as connection:
        ended = datetime.now(UTC) - timedelta(seconds=1)
        connection.execute(
            "UPDATE ricordo.memory SET expire_time = %s WHERE project_id = %s", [ended, project_id]
        )
    everything = ms.ListMemoriesRequest(include_deleted=True)
    assert not (await world.memories.ListMemories(everything)).memories
    reads: list[Awaitable[object]] = [
        world.memories.GetMemory(ms.GetMemoryRequest(memory_id=memory.memory_id, include_deleted=True)),
        world.memories.ListMemoryRevisions(ms.ListMemoryRevisionsRequest(memory_id=memory.memory_id)),
        world.memories.RollbackMemory(
            ms.RollbackMemoryRequest(memory_id=memory.memory_id, target_revision=1)
        ),
    ]
    assert [(await refusal(read))[1] for read in reads] == ["MEMORY_NOT_FOUND"] * 3
