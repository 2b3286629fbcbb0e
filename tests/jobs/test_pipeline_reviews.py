"""What pipelines hold back for review, against a real server, worker and a scripted model."""

import grpc.aio
import pytest
import pytest_asyncio

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import (
    extraction_service_pb2_grpc,
    held_memory_pb2,
    memory_pb2,
    project_pb2,
    project_service_pb2_grpc,
    turn_pb2,
)
from ricordo_server.config import Settings
from tests.fixtures.fake_chat import FakeChat, fact, items, reading_with
from tests.fixtures.project_settings import update
from tests.jobs.pipelines import BY_HAND, NOTES, World, eventually, finish
from tests.jobs.queue import worker
from tests.jobs.test_pipelines import delete_turn

OWNS, ROME = "The user owns a boat.", "The user lives in Rome."


class Reviewed(World):
    """A project that trusts what users and assistants say, and a model that reads it."""

    def __init__(self, channel: grpc.aio.Channel, model: FakeChat) -> None:
        super().__init__(channel)
        self.extraction = extraction_service_pb2_grpc.ExtractionServiceStub(channel)
        self.model = model

    async def held(self) -> list[held_memory_pb2.HeldMemory]:
        request = pb.ListHeldMemoriesRequest(store_id=NOTES)
        return list((await self.extraction.ListHeldMemories(request)).held_memories)

    async def approve(self, each: held_memory_pb2.HeldMemory) -> list[memory_pb2.Memory]:
        request = pb.ApproveMemoryRequest(store_id=NOTES, held_memory_id=each.held_memory_id)
        return [made.memory for made in (await self.extraction.ApproveMemory(request)).memories]


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake)


@pytest_asyncio.fixture
async def world(channel: grpc.aio.Channel, fake: FakeChat) -> Reviewed:
    policy = project_pb2.ExtractionPolicy(least_trust="assistant")
    await project_service_pb2_grpc.ProjectServiceStub(channel).UpdateProject(update(extraction=policy))
    made = Reviewed(channel, fake)
    await made.make_stores()
    return made


async def run(world: Reviewed, settings: Settings) -> turn_pb2.Turn:
    """The user and a tool say something, and a run distils it; the tool's turn."""
    await world.say(ROME)
    [told] = await world.say(OWNS, role="tool")
    world.model.script = [items(fact(ROME, 1, ROME)), items(fact(OWNS, 1, OWNS))]
    await finish(world, settings, await world.create())
    return told


async def test_what_a_tool_said_waits_as_the_line_it_would_be(world: Reviewed, settings: Settings) -> None:
    told = await run(world, settings)
    assert await world.documents() == {"/general.md": ROME}
    [waiting] = await world.held()
    memory = waiting.memory
    assert (memory.kind, memory.key, memory.content) == (
        memory_pb2.MEMORY_KIND_DOCUMENT, "/general.md", OWNS,
    )  # fmt: skip
    assert [(each.turn_id, each.role) for each in waiting.quotations] == [(told.turn_id, "tool")]


async def test_what_is_approved_is_a_line_of_the_document(world: Reviewed, settings: Settings) -> None:
    await run(world, settings)
    [waiting] = await world.held()
    [written] = await world.approve(waiting)
    assert (written.key, written.content) == ("/general.md", f"{ROME}\n{OWNS}")
    assert await world.documents() == {"/general.md": f"{ROME}\n{OWNS}"}
    assert await world.held() == []


@pytest.mark.parametrize("approved", [False, True])
async def test_it_goes_with_its_turn_of_the_other_store(
    world: Reviewed, settings: Settings, approved: bool
) -> None:
    told = await run(world, settings)
    [waiting] = await world.held()
    if approved:
        await world.approve(waiting)
    await delete_turn(world, told)

    async def is_forgotten() -> bool:
        return await world.held() == [] and await world.documents() == {"/general.md": ROME}

    async with worker(settings, *BY_HAND):
        await eventually(is_forgotten)
