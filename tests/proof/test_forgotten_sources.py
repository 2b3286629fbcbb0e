"""Turns are deleted: of what was learned from them, no row of any table holds a word."""

import random
from collections.abc import Sequence
from uuid import uuid4

import grpc.aio
import psycopg

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import scope_pb2, session_service_pb2, turn_pb2
from ricordo.v1 import session_service_pb2 as ss
from tests.fixtures.database import TestDatabase
from tests.fixtures.generation import World
from tests.isolation.test_erasure import find
from tests.proof.conftest import Tally
from tests.proof.scale import scaled
from tests.proof.world import at_once

TURNS, GOING = 8, 4
CONVERSATIONS = scaled(250)
KINDS = [m.MEMORY_KIND_SEMANTIC, m.MEMORY_KIND_EPISODIC, m.MEMORY_KIND_PROCEDURAL, m.MEMORY_KIND_TAXONOMIC]
SAYINGS = (
    "My code is {}.",
    "{} is a boat that we own.",
    "To start {}: open the valve, then turn the key, then wait.",
    "I met {} in Rome yesterday.",
)


async def test_of_a_deleted_source_nothing_is_left(
    channel: grpc.aio.Channel, database: TestDatabase, tally: Tally
) -> None:
    world = World(channel)
    gone: list[str] = []
    kept: list[str] = []

    async def converse(number: int) -> None:
        scope = scope_pb2.Scope(user_id=f"user{number}", session_id="s")
        words = [f"canary{uuid4().hex}" for _ in range(TURNS)]
        turns = await record(world, scope, words)
        await world.learn(scope, kinds=KINDS, request_id=uuid4().hex)
        for place in random.sample(range(TURNS), GOING):
            request = ss.DeleteTurnRequest(turn_id=turns[place].turn_id, request_id=uuid4().hex)
            await world.sessions.DeleteTurn(request)
            gone.append(words[place])
        kept.extend(word for word in words if word not in gone)

    await at_once(range(CONVERSATIONS), converse)
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        for word in gone:
            found = find(connection, word)
            tally.count(not found, (word, found))
        assert find(connection, kept[0])
    assert not tally.failures
    assert len(gone) == CONVERSATIONS * GOING


async def record(world: World, scope: scope_pb2.Scope, words: Sequence[str]) -> list[turn_pb2.Turn]:
    said = [SAYINGS[place % len(SAYINGS)].format(word) for place, word in enumerate(words)]
    request = session_service_pb2.BatchRecordTurnsRequest(
        scope=scope,
        turns=[turn_pb2.Turn(role="user", content=text) for text in said],
        request_id=uuid4().hex,
    )
    return [result.turn for result in (await world.sessions.BatchRecordTurns(request)).results]
