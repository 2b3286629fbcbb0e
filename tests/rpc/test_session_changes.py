"""Sessions that change: their metadata, turns that are taken back, descendants that go along."""

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import extraction_service_pb2 as es
from ricordo.v1 import memory_pb2, metadata_pb2, scope_pb2, session_pb2
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import session_service_pb2 as pb
from tests.fixtures.calls import refusal
from tests.fixtures.generation import World, contents

INVALID, NOT_FOUND = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
FIRST = scope_pb2.Scope(user_id="ann", session_id="first")


def a_session(name: str, user_id: str = "ann", **fields: Any) -> session_pb2.Session:
    return session_pb2.Session(scope=scope_pb2.Scope(user_id=user_id, session_id=name), **fields)


async def create(world: World, name: str, **fields: Any) -> session_pb2.Session:
    request = pb.CreateSessionRequest(session=a_session(name, **fields))
    return (await world.sessions.CreateSession(request)).session


async def get(world: World, scope: scope_pb2.Scope = FIRST) -> session_pb2.Session:
    return (await world.sessions.GetSession(pb.GetSessionRequest(scope=scope))).session


async def turns(world: World, scope: scope_pb2.Scope = FIRST) -> list[str]:
    listed = await world.sessions.ListTurns(pb.ListTurnsRequest(scope=scope_pb2.ScopeFilter(exactly=scope)))
    return [turn.content for turn in listed.turns]


async def everything(world: World) -> list[memory_pb2.Memory]:
    return list((await world.memories.ListMemories(ms.ListMemoriesRequest())).memories)


async def names_of(world: World) -> list[str]:
    listed = await world.sessions.ListSessions(pb.ListSessionsRequest())
    return sorted(session.scope.session_id for session in listed.sessions)


def renamed(scope: scope_pb2.Scope, **values: str) -> pb.UpdateSessionRequest:
    metadata = {name: metadata_pb2.MetadataValue(string_value=value) for name, value in values.items()}
    session = session_pb2.Session(scope=scope, metadata=metadata)
    return pb.UpdateSessionRequest(session=session, update_mask=FieldMask(paths=["metadata"]))


async def test_metadata_takes_the_place_of_what_was_there(world: World) -> None:
    before = await create(world, "first", metadata={"n": metadata_pb2.MetadataValue(int64_value=1)})
    updated = (await world.sessions.UpdateSession(renamed(FIRST, title="tea"))).session
    assert {name: value.string_value for name, value in updated.metadata.items()} == {"title": "tea"}
    assert updated.update_time.ToNanoseconds() > before.update_time.ToNanoseconds()
    assert updated.last_activity_time == before.last_activity_time
    assert await get(world) == updated


async def test_an_update_of_no_session_is_refused(world: World) -> None:
    assert (await refusal(world.sessions.UpdateSession(renamed(FIRST))))[:2] == (
        NOT_FOUND,
        "SESSION_NOT_FOUND",
    )


@pytest.mark.parametrize("paths", [[], ["parent_session_id"], ["metadata", "scope"]])
async def test_nothing_else_of_a_session_changes(world: World, paths: list[str]) -> None:
    request = pb.UpdateSessionRequest(session=a_session("first"), update_mask=FieldMask(paths=paths))
    expected = (INVALID, "INVALID_FIELD", "update_mask")
    assert await refusal(world.sessions.UpdateSession(request)) == expected


async def test_the_last_turn_is_popped_and_answered(world: World) -> None:
    await world.say("one", "two", scope=FIRST)
    popped = await world.sessions.PopTurn(pb.PopTurnRequest(scope=FIRST))
    assert (popped.turn.content, popped.turn.turn_seq) == ("two", 2)
    assert await turns(world) == ["one"]


async def test_a_repeated_pop_answers_the_same_turn(world: World) -> None:
    await world.say("one", "two", scope=FIRST)
    request = pb.PopTurnRequest(scope=FIRST, request_id="r")
    assert await world.sessions.PopTurn(request) == await world.sessions.PopTurn(request)
    assert await turns(world) == ["one"]


async def test_a_number_is_not_given_again(world: World) -> None:
    await world.say("one", "two", scope=FIRST)
    await world.sessions.PopTurn(pb.PopTurnRequest(scope=FIRST))
    [after] = await world.say("three", scope=FIRST)
    assert (after.turn_seq, (await get(world)).last_turn_seq) == (3, 3)


async def test_there_must_be_a_turn_to_pop(world: World) -> None:
    request = pb.PopTurnRequest(scope=FIRST)
    assert (await refusal(world.sessions.PopTurn(request)))[:2] == (NOT_FOUND, "SESSION_NOT_FOUND")
    await create(world, "first")
    assert (await refusal(world.sessions.PopTurn(request)))[:2] == (NOT_FOUND, "TURN_NOT_FOUND")


async def test_pops_at_once_take_a_turn_each(world: World) -> None:
    await world.say(*map(str, range(8)), scope=FIRST)
    calls = [world.sessions.PopTurn(pb.PopTurnRequest(scope=FIRST)) for _ in range(8)]
    popped = await asyncio.gather(*calls)
    assert sorted(each.turn.content for each in popped) == sorted(map(str, range(8)))


async def test_what_was_learned_from_the_popped_turn_alone_goes(world: World) -> None:
    await world.say("I live in Rome.", "My cat is called Leo.", scope=FIRST)
    await world.learn(FIRST)
    popped = await world.sessions.PopTurn(pb.PopTurnRequest(scope=FIRST))
    assert popped.deleted_memory_count == 1
    assert contents(await everything(world)) == ["I live in Rome."]


async def test_a_cleared_session_stays_without_its_turns(world: World) -> None:
    await create(world, "first", metadata={"n": metadata_pb2.MetadataValue(int64_value=1)})
    await world.say("I live in Rome.", "My cat is called Leo.", scope=FIRST)
    await world.learn(FIRST)
    cleared = await world.sessions.ClearSession(pb.ClearSessionRequest(scope=FIRST))
    assert (cleared.deleted_turn_count, cleared.deleted_memory_count) == (2, 2)
    assert (await turns(world), await everything(world)) == ([], [])
    session = await get(world)
    assert (session.metadata["n"].int64_value, session.last_turn_seq) == (1, 2)


async def test_only_a_session_can_be_cleared(world: World) -> None:
    request = pb.ClearSessionRequest(scope=FIRST)
    assert (await refusal(world.sessions.ClearSession(request)))[:2] == (NOT_FOUND, "SESSION_NOT_FOUND")


async def family(world: World) -> None:
    """`a` over `b` over `c`; `x` beside them, and another user's child of an `a` of its own."""
    await create(world, "a")
    await create(world, "b", parent_session_id="a")
    await create(world, "c", parent_session_id="b")
    await create(world, "x")
    await create(world, "z", user_id="bob", parent_session_id="a")


async def test_a_cascade_takes_the_descendants_along(world: World) -> None:
    await family(world)
    await world.say("I live in Rome.", scope=scope_pb2.Scope(user_id="ann", session_id="c"))
    request = pb.DeleteSessionRequest(scope=a_session("a").scope, cascade=True)
    deleted = await world.sessions.DeleteSession(request)
    assert (deleted.deleted_session_count, deleted.deleted_turn_count) == (3, 1)
    assert await names_of(world) == ["x", "z"]


async def test_without_a_cascade_the_descendants_stay(world: World) -> None:
    await family(world)
    deleted = await world.sessions.DeleteSession(pb.DeleteSessionRequest(scope=a_session("a").scope))
    assert deleted.deleted_session_count == 1
    assert await names_of(world) == ["b", "c", "x", "z"]


async def test_parents_in_a_circle_end(world: World) -> None:
    await create(world, "a", parent_session_id="b")
    await create(world, "b", parent_session_id="a")
    request = pb.DeleteSessionRequest(scope=a_session("a").scope, cascade=True)
    assert (await world.sessions.DeleteSession(request)).deleted_session_count == 2


async def test_turns_that_were_taken_back_are_learned_nothing_from(world: World) -> None:
    await world.say("I live in Rome.", scope=FIRST)
    await world.sessions.PopTurn(pb.PopTurnRequest(scope=FIRST))
    await world.learn(FIRST)
    assert await everything(world) == []
    promoted = await world.extraction.PromoteSession(es.PromoteSessionRequest(scope=FIRST))
    assert len(promoted.snapshot_ids) == 1  # of the number that was given; there is nothing to read in it
