"""Many writers at once, through the real server: nothing lost, nothing doubled, no gap."""

import asyncio
from collections import Counter

import grpc
import grpc.aio
import psycopg
import pytest

from ricordo.v1 import (
    memory_pb2,
    memory_service_pb2,
    scope_pb2,
    session_service_pb2,
    turn_pb2,
)
from tests.fixtures.calls import read_refusal, refusal
from tests.fixtures.database import TestDatabase
from tests.fixtures.stubs import Memories, Sessions

pb, turns_pb = memory_service_pb2, session_service_pb2
WRITERS = 50
SCOPE = scope_pb2.Scope(user_id="ann", session_id="s1")


def recording(content: str, **fields: str) -> turns_pb.RecordTurnRequest:
    turn = turn_pb2.Turn(role="user", content=content, idempotency_key=fields.pop("idempotency_key", ""))
    return turns_pb.RecordTurnRequest(scope=SCOPE, turn=turn, **fields)


def fact(content: str, key: str = "k") -> memory_pb2.Memory:
    return memory_pb2.Memory(kind=memory_pb2.MEMORY_KIND_SEMANTIC, key=key, content=content)


async def all_turns(sessions: Sessions) -> list[turn_pb2.Turn]:
    return list((await sessions.ListTurns(turns_pb.ListTurnsRequest(page_size=1000))).turns)


async def all_revisions(memories: Memories, memory_id: str) -> list[memory_pb2.MemoryRevision]:
    request = pb.ListMemoryRevisionsRequest(memory_id=memory_id, page_size=1000)
    return list((await memories.ListMemoryRevisions(request)).revisions)


async def test_turns_of_one_session_are_numbered_without_gap_or_double(sessions: Sessions) -> None:
    answers = await asyncio.gather(*(sessions.RecordTurn(recording(str(n))) for n in range(WRITERS)))
    assert sorted(answer.turn.turn_seq for answer in answers) == list(range(1, WRITERS + 1))
    turns = await all_turns(sessions)  # by create_time
    assert [turn.turn_seq for turn in turns] == list(range(1, WRITERS + 1))
    assert {turn.content for turn in turns} == {str(number) for number in range(WRITERS)}
    session = (await sessions.GetSession(turns_pb.GetSessionRequest(scope=SCOPE))).session
    assert (session.last_turn_seq, session.last_activity_time) == (WRITERS, turns[-1].create_time)


async def test_batches_of_one_session_do_not_interleave(sessions: Sessions) -> None:
    def batch(writer: int) -> turns_pb.BatchRecordTurnsRequest:
        turns = [turn_pb2.Turn(role="user", content=f"{writer}.{number}") for number in range(10)]
        return turns_pb.BatchRecordTurnsRequest(scope=SCOPE, turns=turns)

    await asyncio.gather(*(sessions.BatchRecordTurns(batch(writer)) for writer in range(20)))
    turns = await all_turns(sessions)
    assert [turn.turn_seq for turn in turns] == list(range(1, 201))
    for start in range(0, 200, 10):
        writer = turns[start].content.partition(".")[0]
        assert [t.content for t in turns[start : start + 10]] == [f"{writer}.{n}" for n in range(10)]


async def test_one_idempotency_key_at_once_makes_one_turn(sessions: Sessions) -> None:
    """Every second writer has the same key, the others have none."""
    requests = [
        recording(str(number), idempotency_key="same" if number % 2 else "") for number in range(WRITERS)
    ]
    answers = await asyncio.gather(*(sessions.RecordTurn(request) for request in requests))
    same = answers[1::2]
    assert sum(answer.created for answer in same) == 1
    assert len({answer.turn.SerializeToString(deterministic=True) for answer in same}) == 1
    assert [turn.turn_seq for turn in await all_turns(sessions)] == list(range(1, WRITERS // 2 + 2))


async def test_batches_with_the_same_keys_at_once_record_each_once(sessions: Sessions) -> None:
    turns = [turn_pb2.Turn(role="user", content=str(n), idempotency_key=f"k{n}") for n in range(20)]
    orders = [turns if writer % 2 else turns[::-1] for writer in range(20)]
    answers = await asyncio.gather(
        *(
            sessions.BatchRecordTurns(turns_pb.BatchRecordTurnsRequest(scope=SCOPE, turns=order))
            for order in orders
        )
    )
    assert sum(result.created for answer in answers for result in answer.results) == 20
    for order, answer in zip(orders, answers, strict=True):
        assert [result.turn.content for result in answer.results] == [turn.content for turn in order]
    assert [turn.turn_seq for turn in await all_turns(sessions)] == list(range(1, 21))


async def test_a_session_deleted_among_its_writers_leaves_dense_numbers(sessions: Sessions) -> None:
    async def delete() -> int:
        await asyncio.sleep(0.05)
        answer = await sessions.DeleteSession(turns_pb.DeleteSessionRequest(scope=SCOPE))
        return answer.deleted_turn_count

    await sessions.RecordTurn(recording("first"))
    writers = (sessions.RecordTurn(recording(str(n))) for n in range(WRITERS))
    deleted, _ = await asyncio.gather(delete(), asyncio.gather(*writers))
    left = await all_turns(sessions)
    assert deleted + len(left) == WRITERS + 1
    assert [turn.turn_seq for turn in left] == list(range(1, len(left) + 1))


async def test_one_request_id_at_once_has_one_effect_and_one_answer(
    sessions: Sessions, memories: Memories
) -> None:
    request = recording("once", request_id="r1")
    answers = await asyncio.gather(*(sessions.RecordTurn(request) for _ in range(WRITERS)))
    assert len({answer.SerializeToString(deterministic=True) for answer in answers}) == 1
    assert len(await all_turns(sessions)) == 1
    creation = pb.CreateMemoryRequest(memory=fact("once", key=""), request_id="r1")
    created = await asyncio.gather(*(memories.CreateMemory(creation) for _ in range(WRITERS)))
    assert len({answer.SerializeToString(deterministic=True) for answer in created}) == 1
    assert len((await memories.ListMemories(pb.ListMemoriesRequest())).memories) == 1


async def test_a_key_is_created_by_exactly_one_writer(memories: Memories) -> None:
    calls = [memories.CreateMemory(pb.CreateMemoryRequest(memory=fact(str(n)))) for n in range(20)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert Counter(read_refusal(error)[1] for error in errors) == {"KEY_TAKEN": 19}
    assert len((await memories.ListMemories(pb.ListMemoriesRequest())).memories) == 1


async def test_puts_on_one_key_make_a_revision_each(memories: Memories) -> None:
    puts = [memories.PutMemory(pb.PutMemoryRequest(memory=fact(f"text {n}"))) for n in range(WRITERS)]
    answers = await asyncio.gather(*puts)
    assert sum(answer.created for answer in answers) == 1
    assert sorted(answer.memory.revision for answer in answers) == list(range(1, WRITERS + 1))
    [memory] = (await memories.ListMemories(pb.ListMemoriesRequest())).memories
    last = next(answer.memory for answer in answers if answer.memory.revision == WRITERS)
    assert (memory.content, memory.has_embedding) == (last.content, True)
    revisions = await all_revisions(memories, memory.memory_id)
    assert [revision.memory.revision for revision in revisions] == list(range(WRITERS, 0, -1))


async def test_appended_lines_are_all_there_once(memories: Memories) -> None:
    puts = [
        memories.PutMemory(pb.PutMemoryRequest(memory=fact(f"line {n}."), append=True))
        for n in range(WRITERS)
    ]
    again = [
        memories.PutMemory(pb.PutMemoryRequest(memory=fact(f"line {n}."), append=True))
        for n in range(0, 50, 5)
    ]
    await asyncio.gather(*puts, *again)
    [memory] = (await memories.ListMemories(pb.ListMemoriesRequest())).memories
    assert Counter(memory.content.split("\n")) == {f"line {number}.": 1 for number in range(WRITERS)}
    assert (memory.revision, memory.has_embedding) == (WRITERS, True)


async def test_two_batches_with_the_same_keys_both_end(memories: Memories) -> None:
    """In opposite orders: sorted before they are written, they do not wait for each other."""
    drafts = [fact(f"text {number}", key=f"k{number}") for number in range(100)]
    orders = [drafts, drafts[::-1]] * 5
    answers = await asyncio.gather(
        *(memories.BatchCreateMemories(pb.BatchCreateMemoriesRequest(memories=order)) for order in orders)
    )
    written = sum(result.HasField("memory") for answer in answers for result in answer.results)
    assert written == 100


async def test_who_waits_long_for_a_row_is_told_to_try_again(
    memories: Memories, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And holds no connection until its deadline; others of the row are served as ever."""
    monkeypatch.setattr("ricordo_server.db.connection.LOCK_SECONDS", 0.05)
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact("tea")))).memory
    with psycopg.connect(database.superuser_url) as holding:
        holding.execute("SELECT FROM ricordo.memory WHERE memory_id = %s FOR UPDATE", [created.memory_id])
        deletion = memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=created.memory_id))
        code, reason, _ = await refusal(deletion)
        read = await memories.GetMemory(pb.GetMemoryRequest(memory_id=created.memory_id))
    assert (code, reason) == (grpc.StatusCode.ABORTED, "WRITE_CONFLICT")
    assert read.memory == created
