"""Of many projects and users read at once, no prompt holds a word of another's."""

import re
from collections.abc import Iterator
from uuid import UUID, uuid4

import grpc.aio
import pytest

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import scope_pb2
from ricordo_server.config import Settings
from tests.fixtures.calls import as_service
from tests.fixtures.database import TestDatabase, make_project
from tests.fixtures.fake_chat import FakeChat, reading_with
from tests.fixtures.generation import World, inline
from tests.proof.conftest import Tally
from tests.proof.obedient_model import obedient_model
from tests.proof.scale import scaled
from tests.proof.world import at_once

PROJECTS, USERS = 10, 2
KINDS = [m.MEMORY_KIND_SEMANTIC, m.MEMORY_KIND_EPISODIC, m.MEMORY_KIND_PROCEDURAL, m.MEMORY_KIND_TAXONOMIC]
# One request for each kind, and one for what to do with the facts beside those that are known.
PROMPTS = scaled(10_000)
CALLS = PROMPTS // (len(KINDS) + 1)
CANARY = re.compile("canary[0-9a-f]{32}")


@pytest.fixture
def fake() -> Iterator[FakeChat]:
    with obedient_model() as model:
        yield model


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake)


async def test_no_prompt_holds_a_word_of_another(
    channel: grpc.aio.Channel, fake: FakeChat, database: TestDatabase, tally: Tally
) -> None:
    world = World(channel)
    owners = [(make_project(database), f"user{number}") for _ in range(PROJECTS) for number in range(USERS)]
    canaries = {owner: f"canary{uuid4().hex}" for owner in owners}

    async def learn(call: tuple[int, tuple[UUID, str]]) -> None:
        number, owner = call
        project_id, user_id = owner
        request = pb.GenerateMemoriesRequest(
            scope=scope_pb2.Scope(user_id=user_id),
            turns=inline(f"My {canaries[owner]} is number {number}."),
            kinds=KINDS,
        )
        await world.extraction.GenerateMemories(request, metadata=as_service(project_id))

    await at_once(enumerate(owners[number % len(owners)] for number in range(CALLS)), learn)
    for asked in fake.requests:
        tally.count(len(set(CANARY.findall(str(asked)))) == 1, asked)
    assert not tally.failures
    assert tally.cases > CALLS * len(KINDS)  # known facts were shown too
