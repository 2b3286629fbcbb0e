"""What was learned from turns goes with them, as a generated client sees it."""

import asyncio
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import scope_pb2, turn_pb2
from ricordo.v1 import session_service_pb2 as ss
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.generation import World, contents

FIRST = scope_pb2.Scope(user_id="ann", session_id="first")
SECOND = scope_pb2.Scope(user_id="ann", session_id="second")


async def learn(world: World, scope: scope_pb2.Scope, *texts: str) -> None:
    await world.say(*texts, scope=scope)
    await world.learn(scope)


async def delete(world: World, scope: scope_pb2.Scope, **call: Any) -> tuple[int, int, int]:
    answer = await world.sessions.DeleteSession(ss.DeleteSessionRequest(scope=scope), **call)
    return answer.deleted_turn_count, answer.deleted_memory_count, answer.restored_memory_count


async def everything(world: World) -> list[m.Memory]:
    request = ms.ListMemoriesRequest(include_deleted=True)
    return list((await world.memories.ListMemories(request)).memories)


async def test_what_rests_on_the_session_alone_goes_with_it(world: World) -> None:
    await learn(world, FIRST, "I live in Rome.", "My cat is called Leo.")
    await learn(world, SECOND, "I own a boat.")
    assert await delete(world, FIRST) == (2, 2, 0)
    assert contents(await everything(world)) == ["I own a boat."]


async def test_what_another_session_says_too_stays(world: World) -> None:
    await learn(world, FIRST, "I live in Rome.")
    await learn(world, SECOND, "I live in Rome!")
    assert await delete(world, FIRST) == (1, 0, 0)
    assert contents(await everything(world)) == ["I live in Rome."]
    assert await delete(world, SECOND) == (1, 1, 0)
    assert await everything(world) == []


async def test_what_was_updated_says_again_what_it_said_before(world: World) -> None:
    await learn(world, FIRST, "I live in Rome.")
    await learn(world, SECOND, "I live in Berlin.")
    assert await delete(world, SECOND) == (1, 0, 1)
    [memory] = await everything(world)
    assert (memory.content, memory.revision) == ("I live in Rome.", 3)
    kept = await world.memories.ListMemoryRevisions(ms.ListMemoryRevisionsRequest(memory_id=memory.memory_id))
    assert [each.memory.content for each in kept.revisions] == ["I live in Rome."] * 2


async def test_of_what_was_updated_since_the_history_goes(world: World) -> None:
    await learn(world, FIRST, "I live in Rome.")
    await learn(world, SECOND, "I live in Berlin.")
    assert await delete(world, FIRST) == (1, 0, 0)
    [memory] = await everything(world)
    kept = await world.memories.ListMemoryRevisions(ms.ListMemoryRevisionsRequest(memory_id=memory.memory_id))
    assert [each.memory.content for each in kept.revisions] == ["I live in Berlin."]


@pytest.mark.parametrize(
    ("path", "value", "stays"), [("content", "I live in Milan.", True), ("title", "home", False)]
)
async def test_a_persons_own_words_stay_and_a_persons_tag_saves_nothing(
    world: World, path: str, value: str, stays: bool
) -> None:
    await learn(world, FIRST, "I live in Rome.")
    [memory] = await everything(world)
    edited = m.Memory(memory_id=memory.memory_id)
    setattr(edited, path, value)
    await world.memories.UpdateMemory(
        ms.UpdateMemoryRequest(memory=edited, update_mask=FieldMask(paths=[path]))
    )
    assert await delete(world, FIRST) == (1, 0 if stays else 1, 0)
    assert contents(await everything(world)) == (["I live in Milan."] if stays else [])


async def test_what_was_deleted_before_goes_for_good(world: World) -> None:
    await learn(world, FIRST, "I live in Rome.")
    [memory] = await everything(world)
    await world.memories.DeleteMemory(ms.DeleteMemoryRequest(memory_id=memory.memory_id))
    await delete(world, FIRST)
    back = ms.RollbackMemoryRequest(memory_id=memory.memory_id, target_revision=1)
    assert (await refusal(world.memories.RollbackMemory(back)))[1] == "MEMORY_NOT_FOUND"


async def test_answers_that_are_kept_for_repeats_are_forgotten(world: World) -> None:
    await world.say("I live in Rome.", scope=FIRST)
    request = pb.GenerateMemoriesRequest(session=pb.SessionRange(scope=FIRST), request_id="r")
    await world.extraction.GenerateMemories(request)
    await delete(world, FIRST)
    assert (await refusal(world.extraction.GenerateMemories(request)))[1] == "SESSION_NOT_FOUND"


async def delete_turn(world: World, turn: turn_pb2.Turn, **call: Any) -> tuple[int, int]:
    answer = await world.sessions.DeleteTurn(ss.DeleteTurnRequest(turn_id=turn.turn_id), **call)
    return answer.deleted_memory_count, answer.restored_memory_count


async def test_what_rests_on_a_turn_alone_goes_with_it(world: World) -> None:
    rome, cat = await world.say("I live in Rome.", "My cat is called Leo.", scope=FIRST)
    await world.learn(FIRST)
    assert await delete_turn(world, rome) == (1, 0)
    assert contents(await everything(world)) == ["My cat is called Leo."]
    left = (await world.sessions.ListTurns(ss.ListTurnsRequest())).turns
    assert [(turn.turn_id, turn.turn_seq) for turn in left] == [(cat.turn_id, 2)]


async def test_what_another_turn_says_too_stays(world: World) -> None:
    first, second = await world.say("I live in Rome.", "I live in Rome!", scope=FIRST)
    await world.learn(FIRST)
    assert await delete_turn(world, first) == (0, 0)
    assert await delete_turn(world, second) == (1, 0)


async def test_what_a_turn_changed_is_as_before(world: World) -> None:
    await learn(world, FIRST, "I live in Rome.")
    [berlin] = await world.say("I live in Berlin.", scope=SECOND)
    await world.learn(SECOND)
    assert await delete_turn(world, berlin) == (0, 1)
    assert contents(await everything(world)) == ["I live in Rome."]


async def test_what_several_turns_say_together_goes_with_one_of_them(world: World) -> None:
    """Its text may be of any of them."""
    secret, other = await world.say("My code is 4711.", "I sail on Sunday.", scope=FIRST)
    episode = [m.MEMORY_KIND_EPISODIC]
    await world.learn(FIRST, kinds=episode)
    assert await delete_turn(world, secret) == (1, 0)
    assert await everything(world) == []
    await world.learn(FIRST, kinds=episode)
    [left] = await everything(world)
    assert list(left.provenance.turn_ids) == [other.turn_id]


async def test_a_deleted_turn_is_gone(world: World) -> None:
    [turn] = await world.say("I live in Rome.", scope=FIRST)
    await delete_turn(world, turn)
    read = ss.GetTurnRequest(turn_id=turn.turn_id)
    assert (await refusal(world.sessions.GetTurn(read)))[1] == "TURN_NOT_FOUND"
    assert (await refusal(delete_turn(world, turn)))[1] == "TURN_NOT_FOUND"


async def test_a_repeat_answers_nothing_of_a_deleted_turn(world: World) -> None:
    said = turn_pb2.Turn(role="user", content="I live in Rome.")
    request = ss.RecordTurnRequest(scope=FIRST, turn=said, request_id="r")
    await delete_turn(world, (await world.sessions.RecordTurn(request)).turn)
    assert not (await world.sessions.RecordTurn(request)).turn.content


async def test_a_repeat_answers_nothing_of_a_deleted_session(world: World) -> None:
    """Of another it answers as before."""
    said = turn_pb2.Turn(role="user", content="I live in Rome.")
    gone = ss.RecordTurnRequest(scope=FIRST, turn=said, request_id="gone")
    kept = ss.RecordTurnRequest(scope=SECOND, turn=said, request_id="kept")
    for request in (gone, kept):
        await world.sessions.RecordTurn(request)
    await delete(world, FIRST)
    answers = [(await world.sessions.RecordTurn(request)).turn.content for request in (gone, kept)]
    assert answers == ["", "I live in Rome."]


async def test_a_turn_that_goes_twice_at_once_goes_once(world: World) -> None:
    [turn] = await world.say("I live in Rome.", scope=FIRST)
    await world.learn(FIRST)
    both = await asyncio.gather(*(delete_turn(world, turn) for _ in range(2)), return_exceptions=True)
    assert sorted(isinstance(each, grpc.aio.AioRpcError) for each in both) == [False, True]


async def test_a_user_forgets_its_own(world: World, project_id: UUID) -> None:
    await learn(world, FIRST, "I live in Rome.")
    assert await delete(world, FIRST, metadata=as_user(project_id, "ann")) == (1, 1, 0)


async def test_nothing_is_learned_from_turns_that_are_deleted_meanwhile(world: World) -> None:
    """Either the memories are there when the turns go, and go with them, or they are not written."""
    scopes = [scope_pb2.Scope(user_id="ann", session_id=f"s{number}") for number in range(8)]
    for number, scope in enumerate(scopes):
        await world.say(f"I own boat number {number}.", scope=scope)
    calls = [call for scope in scopes for call in (world.learn(scope), delete(world, scope))]
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(outcome, grpc.aio.AioRpcError):
            assert outcome.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.ABORTED)
    assert await everything(world) == []
