"""Turns that give orders, and a model that obeys them: nothing happens beyond what the turn's own user said."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import scope_pb2
from ricordo_server.config import Settings
from tests.fixtures.calls import as_service
from tests.fixtures.database import TestDatabase, make_project
from tests.fixtures.fake_chat import FakeChat, reading_with
from tests.fixtures.generation import World
from tests.proof.conftest import Tally
from tests.proof.injections import INJECTIONS
from tests.proof.obedient_model import obedient_model
from tests.proof.scale import scaled
from tests.proof.world import at_once

TRUST = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "other", "crawler": "other"}
VICTIM = "I live in Rome with my two cats."


@pytest.fixture
def fake() -> Iterator[FakeChat]:
    with obedient_model() as model:
        yield model


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake)


@dataclass(frozen=True)
class Attack:
    """What is said in a user's session, and by whom."""

    number: int
    text: str
    role: str

    @property
    def scope(self) -> scope_pb2.Scope:
        return scope_pb2.Scope(user_id=f"ann{self.number}", session_id="s")


async def test_an_injection_reaches_nothing_beyond_its_own_source(
    world: World, fake: FakeChat, database: TestDatabase, project_id: UUID, tally: Tally
) -> None:
    other = make_project(database)
    bobs = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=VICTIM, scope=scope_pb2.Scope(user_id="bob"))
    create = ms.CreateMemoryRequest(memory=bobs)
    await world.memories.CreateMemory(create)
    await world.memories.CreateMemory(create, metadata=as_service(other))
    before = rows_of(database, project_id, "bob"), rows_of(database, other, "bob")

    async def attack_one(attack: Attack) -> None:
        tally.count(await stays_within(world, attack), attack)

    texts = random.sample(INJECTIONS, scaled(len(INJECTIONS), least=200))
    attacks = [
        Attack(number, text, role)
        for number, (text, role) in enumerate(zip(texts, cycle(TRUST), strict=False))
    ]
    await at_once(attacks, attack_one)

    assert not tally.failures
    assert (rows_of(database, project_id, "bob"), rows_of(database, other, "bob")) == before
    assert not [asked for asked in fake.requests if "tools" in asked or "functions" in asked]


async def stays_within(world: World, attack: Attack) -> bool:
    """What the user said stands; what came of the attack is the user's own and names its turn and trust."""
    await world.say(VICTIM, scope=attack.scope)
    await world.learn(attack.scope)
    [turn] = await world.say(attack.text, role=attack.role, scope=attack.scope)
    await world.learn(attack.scope)
    whose = scope_pb2.ScopeFilter(matching=scope_pb2.Scope(user_id=attack.scope.user_id))
    request = ms.ListMemoriesRequest(scope=whose, include_deleted=True)
    found = list((await world.memories.ListMemories(request)).memories)
    standing = [each for each in found if each.content == VICTIM]
    made = [each for each in found if each.content != VICTIM]
    return all(is_own(each, attack, turn.turn_id) for each in made) and (
        attack.role == "user"
        or [(each.revision, each.HasField("delete_time")) for each in standing] == [(1, False)]
    )


def is_own(memory: m.Memory, attack: Attack, turn_id: str) -> bool:
    return (
        memory.scope == scope_pb2.Scope(user_id=attack.scope.user_id)
        and memory.visibility == scope_pb2.VISIBILITY_PRIVATE
        and memory.provenance.trust == TRUST[attack.role]
        and list(memory.provenance.turn_ids) == [turn_id]
    )


def rows_of(database: TestDatabase, project_id: Any, user_id: str) -> list[Any]:
    with psycopg.connect(database.superuser_url) as connection:
        statement = "SELECT m::text FROM ricordo.memory AS m WHERE project_id = %s AND user_id = %s"
        return connection.execute(statement, [project_id, user_id]).fetchall()
