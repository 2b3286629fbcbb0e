"""ForkSession: a copy that is independent, and learned from no second time."""

import asyncio
from typing import Any

import grpc
import grpc.aio

from ricordo.v1 import extraction_service_pb2 as es
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import metadata_pb2, scope_pb2, search_pb2, session_pb2, turn_pb2
from ricordo.v1 import session_service_pb2 as pb
from tests.fixtures.calls import refusal
from tests.fixtures.generation import World, contents

FIRST = scope_pb2.Scope(user_id="ann", session_id="first")
COPY = scope_pb2.Scope(user_id="ann", session_id="copy")
NOT_FOUND = grpc.StatusCode.NOT_FOUND


async def fork(world: World, **fields: Any) -> pb.ForkSessionResponse:
    given = {"scope": FIRST, "session_id": "copy", **fields}
    return await world.sessions.ForkSession(pb.ForkSessionRequest(**given))


async def turns(world: World, scope: scope_pb2.Scope) -> list[turn_pb2.Turn]:
    listed = await world.sessions.ListTurns(pb.ListTurnsRequest(scope=scope_pb2.ScopeFilter(exactly=scope)))
    return list(listed.turns)


async def delete(world: World, scope: scope_pb2.Scope) -> int:
    return (await world.sessions.DeleteSession(pb.DeleteSessionRequest(scope=scope))).deleted_memory_count


async def everything(world: World) -> list[m.Memory]:
    return list((await world.memories.ListMemories(ms.ListMemoriesRequest())).memories)


async def status(world: World, scope: scope_pb2.Scope) -> es.GetExtractionStatusResponse:
    return await world.extraction.GetExtractionStatus(es.GetExtractionStatusRequest(scope=scope))


async def test_a_copy_has_the_turns_and_says_where_it_is_from(world: World) -> None:
    said = turn_pb2.Turn(
        role="user", content="tea", data_json='{"n": 1}', idempotency_key="k", model_name="m"
    )
    await world.sessions.RecordTurn(pb.RecordTurnRequest(scope=FIRST, turn=said))
    metadata = {"n": metadata_pb2.MetadataValue(int64_value=1)}
    forked = await fork(world, metadata=metadata)
    assert (forked.session.parent_session_id, forked.session.root_session_id) == ("first", "first")
    assert (forked.session.metadata["n"].int64_value, forked.copied_turn_count) == (1, 1)
    [original], [copy] = await turns(world, FIRST), await turns(world, COPY)
    assert copy.turn_id != original.turn_id
    for name in ("turn_seq", "role", "content", "data_json", "idempotency_key", "model_name", "event_time"):
        assert getattr(copy, name) == getattr(original, name)


async def test_it_is_copied_up_to_a_turn_inclusive(world: World) -> None:
    _, second, _ = await world.say("one", "two", "three", scope=FIRST)
    assert (await fork(world, up_to_turn_id=second.turn_id)).session.last_turn_seq == 2
    assert [turn.content for turn in await turns(world, COPY)] == ["one", "two"]


async def test_the_two_are_independent(world: World) -> None:
    await world.say("one", scope=FIRST)
    await fork(world)
    [new] = await world.say("two", scope=COPY)
    assert new.turn_seq == 2
    await world.sessions.ClearSession(pb.ClearSessionRequest(scope=FIRST))
    assert [turn.content for turn in await turns(world, COPY)] == ["one", "two"]


async def test_a_copy_is_found_by_words_and_by_meaning(world: World) -> None:
    await world.say("I only drink green tea", scope=FIRST)
    await fork(world)
    for mode in (search_pb2.SEARCH_MODE_TEXT, search_pb2.SEARCH_MODE_SEMANTIC):
        options = search_pb2.SearchOptions(query="green tea", mode=mode)
        of_copy = scope_pb2.ScopeFilter(exactly=COPY)
        found = await world.sessions.SearchTurns(pb.SearchTurnsRequest(options=options, scope=of_copy))
        assert [hit.turn.content for hit in found.hits] == ["I only drink green tea"]


async def test_what_the_copy_says_too_stays_until_both_are_gone(world: World) -> None:
    await world.say("I live in Rome.", scope=FIRST)
    await world.learn(FIRST)
    await fork(world)
    assert await delete(world, FIRST) == 0
    assert contents(await everything(world)) == ["I live in Rome."]
    assert await delete(world, COPY) == 1


async def test_the_original_keeps_what_was_learned_from_it(world: World) -> None:
    await world.say("I live in Rome.", scope=FIRST)
    await world.learn(FIRST)
    await fork(world)
    assert await delete(world, COPY) == 0
    assert contents(await everything(world)) == ["I live in Rome."]


async def test_what_is_in_a_snapshot_is_not_extracted_again(world: World) -> None:
    await world.say("one", "two", scope=FIRST)
    await world.extraction.PromoteSession(es.PromoteSessionRequest(scope=FIRST))
    await world.say("three", scope=FIRST)
    await fork(world)
    of_copy = await status(world, COPY)
    assert (of_copy.last_turn_seq, of_copy.promoted_turn_seq) == (3, 2)
    assert {(each.extracted_turn_seq, each.pending_snapshots) for each in of_copy.kinds} == {(2, 0)}
    promoted = await world.extraction.PromoteSession(es.PromoteSessionRequest(scope=COPY))
    listed = await world.extraction.ListSnapshots(
        es.ListSnapshotsRequest(scope=scope_pb2.ScopeFilter(exactly=COPY))
    )
    [again] = [each for each in listed.snapshots if each.snapshot_id in promoted.snapshot_ids]
    assert (again.from_turn_seq, again.to_turn_seq) == (3, 3)


async def test_a_session_without_turns_has_an_empty_copy(world: World) -> None:
    await world.sessions.CreateSession(pb.CreateSessionRequest(session=session_pb2.Session(scope=FIRST)))
    forked = await fork(world, session_id="")
    assert (forked.copied_turn_count, forked.session.last_turn_seq) == (0, 0)
    assert len(forked.session.scope.session_id) == 36


async def test_a_fork_of_a_fork_keeps_the_root(world: World) -> None:
    await world.say("one", scope=FIRST)
    await fork(world)
    again = await world.sessions.ForkSession(pb.ForkSessionRequest(scope=COPY, session_id="again"))
    assert (again.session.parent_session_id, again.session.root_session_id) == ("copy", "first")


async def test_a_taken_id_is_refused_and_nothing_copied(world: World) -> None:
    await world.say("one", scope=FIRST)
    await world.say("mine", scope=COPY)
    expected = (grpc.StatusCode.ALREADY_EXISTS, "ID_TAKEN", "session_id")
    assert await refusal(fork(world)) == expected
    assert [turn.content for turn in await turns(world, COPY)] == ["mine"]


async def test_only_its_own_turn_bounds_a_copy(world: World) -> None:
    await world.say("one", scope=FIRST)
    [other] = await world.say("two", scope=scope_pb2.Scope(user_id="ann", session_id="other"))
    expected = (NOT_FOUND, "TURN_NOT_FOUND", "up_to_turn_id")
    assert await refusal(fork(world, up_to_turn_id=other.turn_id)) == expected


async def test_there_must_be_a_session(world: World) -> None:
    assert (await refusal(fork(world)))[:2] == (NOT_FOUND, "SESSION_NOT_FOUND")


async def test_turns_recorded_meanwhile_are_in_the_copy_or_not_but_none_is_torn(world: World) -> None:
    """A batch is recorded all or nothing, and copied so too."""
    await world.say("zero", scope=FIRST)
    recording = [world.say("a", "b", "c", scope=FIRST) for _ in range(6)]
    forks = [fork(world, session_id=f"copy{number}") for number in range(4)]
    _, copies = await asyncio.gather(asyncio.gather(*recording), asyncio.gather(*forks))
    for forked in copies:
        assert (forked.copied_turn_count - 1) % 3 == 0
        assert forked.session.last_turn_seq == forked.copied_turn_count
