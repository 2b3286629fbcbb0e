"""Every answer fits the 4 MiB that a client's default allows, whatever a legal request writes and asks."""

from typing import Any

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import context_service_pb2 as context_pb
from ricordo.v1 import (
    memory_pb2,
    paging_pb2,
    scope_pb2,
    search_pb2,
    turn_pb2,
)
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import session_service_pb2 as turns_pb
from ricordo_server.domain.errors import DomainError
from ricordo_server.domain.limits import MAX_ANSWER_BYTES, MAX_CLIENT_BYTES
from ricordo_server.rpc.context_service import check_deliverable
from ricordo_server.rpc.pages import omit_excess
from tests.fixtures.calls import refusal
from tests.fixtures.stubs import Memories, Sessions

INVALID = grpc.StatusCode.INVALID_ARGUMENT
KIB = 1024
TEXT = search_pb2.SEARCH_MODE_TEXT
# 5 pairs of 512 bytes each: the largest scope.
SCOPE = scope_pb2.Scope(user_id="u" * 512, labels={f"{n}" + "l" * 511: "v" * 512 for n in range(4)})


def fact(content: str = "tea", **fields: Any) -> memory_pb2.Memory:
    return memory_pb2.Memory(kind=memory_pb2.MEMORY_KIND_SEMANTIC, content=content, **fields)


def procedure(**details: Any) -> memory_pb2.Memory:
    given = memory_pb2.ProceduralDetails(**details)
    return memory_pb2.Memory(kind=memory_pb2.MEMORY_KIND_PROCEDURAL, procedural=given)


async def test_a_procedure_is_bounded_as_a_whole(memories: Memories) -> None:
    """Each list within its own bound, 1.2 MiB together."""
    texts = ["s" * 1_200] * 200
    memory = procedure(**dict.fromkeys(("steps", "resources", "allowed_tools", "trigger_conditions"), texts))
    create = memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))
    assert await refusal(create) == (INVALID, "LIMIT_EXCEEDED", "memory.procedural")
    mask = FieldMask(paths=["details"])
    memory.memory_id = "m"
    update = memories.UpdateMemory(pb.UpdateMemoryRequest(memory=memory, update_mask=mask))
    assert await refusal(update) == (INVALID, "LIMIT_EXCEEDED", "memory.procedural")


async def test_a_memory_over_a_mebibyte_is_refused(memories: Memories) -> None:
    memory = fact(memory_id="m", tags=["t" * 512] * 3_000)
    limited = (INVALID, "LIMIT_EXCEEDED", "memory")
    assert await refusal(memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))) == limited
    request = pb.UpdateMemoryRequest(memory=memory, update_mask=FieldMask(paths=["tags"]))
    assert await refusal(memories.UpdateMemory(request)) == limited
    batch = await memories.BatchCreateMemories(pb.BatchCreateMemoriesRequest(memories=[memory, fact()]))
    assert batch.results[0].error.field == "memories[0]"
    assert batch.results[1].HasField("memory")


async def test_a_turn_over_a_mebibyte_is_refused(sessions: Sessions) -> None:
    turn = turn_pb2.Turn(role="user", tool_calls=[turn_pb2.ToolCall(name="n" * 512)] * 3_000)
    scope = scope_pb2.Scope(user_id="ann", session_id="s1")
    call = sessions.RecordTurn(turns_pb.RecordTurnRequest(scope=scope, turn=turn))
    assert await refusal(call) == (INVALID, "LIMIT_EXCEEDED", "turn")


async def test_the_largest_procedures_can_be_written_and_listed(memories: Memories) -> None:
    memory = procedure(steps=["s" * KIB] * 100, resources=["r" * KIB] * 100)
    memory.provenance.turn_ids.extend(["t" * 512] * 500)
    for _ in range(8):
        await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))
    seen, token = 0, ""
    while seen == 0 or token:
        request = pb.ListMemoriesRequest(page_size=1_000, page_token=token, view=paging_pb2.VIEW_BASIC)
        page = await memories.ListMemories(request)
        seen, token = seen + len(page.memories), page.next_page_token
    assert seen == 8


async def test_a_batch_of_memories_with_tags_is_answered(memories: Memories) -> None:
    batch = [fact(f"tea {number}", tags=["t" * 480] * 30) for number in range(500)]
    answer = await memories.BatchCreateMemories(pb.BatchCreateMemoriesRequest(memories=batch))
    assert answer.ByteSize() <= MAX_ANSWER_BYTES
    first, last = answer.results[0].memory, answer.results[-1].memory
    assert (len(first.tags), first.content_omitted) == (30, False)
    assert (len(last.tags), last.content_omitted, last.revision) == (0, True, 1)
    read = (await memories.GetMemory(pb.GetMemoryRequest(memory_id=last.memory_id))).memory
    assert (read.content, len(read.tags)) == ("tea 499", 30)
    assert read.create_time == last.create_time


async def test_hits_with_provenance_are_answered(memories: Memories) -> None:
    provenance = memory_pb2.Provenance(turn_ids=["t" * 512] * 500)
    batches = [[fact(f"tea {number}", provenance=provenance) for number in range(25)]] * 2
    for batch in batches:
        await memories.BatchCreateMemories(pb.BatchCreateMemoriesRequest(memories=batch))
    options = search_pb2.SearchOptions(query="tea", mode=TEXT, top_k=200)
    answer = await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))
    assert len(answer.hits) == 50
    assert answer.hits[-1].memory.content_omitted
    assert answer.hits[-1].score > 0


async def test_a_batch_of_turns_with_keys_and_labels_is_answered(sessions: Sessions) -> None:
    scope = scope_pb2.Scope(session_id="s" * 512)
    scope.MergeFrom(scope_pb2.Scope(user_id=SCOPE.user_id, labels=dict(list(SCOPE.labels.items())[:3])))
    names: dict[str, Any] = dict.fromkeys(("agent_id", "tool_call_id", "tool_name", "model_name"), "n" * 512)
    batch = [
        turn_pb2.Turn(role="r" * 64, content="tea", idempotency_key=f"{number:03}" + "k" * 509, **names)
        for number in range(500)
    ]
    answer = await sessions.BatchRecordTurns(turns_pb.BatchRecordTurnsRequest(scope=scope, turns=batch))
    assert answer.ByteSize() <= MAX_ANSWER_BYTES
    turns = [result.turn for result in answer.results]
    assert [turn.turn_seq for turn in turns] == list(range(1, 501))
    assert {turn.role for turn in turns} == {"r" * 64}
    assert turns[-1].content_omitted


async def test_a_batch_of_errors_is_answered(memories: Memories) -> None:
    """Each refusal quotes its key, which may be long and grow when it is quoted."""
    batch = [fact(key="\U000e0001" * 128)] * 500
    answer = await memories.BatchCreateMemories(pb.BatchCreateMemoriesRequest(memories=batch))
    assert answer.results[-1].error.reason
    assert max(len(result.error.message.encode()) for result in answer.results) <= 1_003


def largest_hit() -> pb.MemoryHit:
    memory = fact(
        "c" * 100_000, memory_id="i" * 63, store_id="s" * 63, key="k" * 2_048, scope=SCOPE, title="t" * KIB
    )
    legs = search_pb2.LegScores(text_rank=200, text_score=0.1, semantic_rank=200, semantic_score=0.1)
    return pb.MemoryHit(memory=memory, score=0.5, distance=0.5, legs=legs, embedding=[0.1] * 4_000)


def test_two_hundred_largest_hits_fit() -> None:
    answer = pb.SearchMemoriesResponse(hits=[largest_hit()] * 200)
    omit_excess(answer, answer.hits)
    assert answer.ByteSize() <= MAX_ANSWER_BYTES
    first, last = answer.hits[0], answer.hits[-1]
    assert first == largest_hit()
    assert (len(answer.hits), len(last.embedding), last.HasField("legs")) == (200, 0, False)
    assert (last.score, last.memory.memory_id, last.memory.content_omitted) == (0.5, "i" * 63, True)
    assert not last.memory.HasField("scope")


def test_vectors_count_even_when_the_memories_are_small() -> None:
    hit = pb.MemoryHit(memory=fact(), score=0.5, embedding=[0.1] * 4_000)
    answer = pb.SearchMemoriesResponse(hits=[hit] * 200, report=search_pb2.SearchReport(exact=True))
    assert answer.ByteSize() > MAX_ANSWER_BYTES
    omit_excess(answer, answer.hits)
    assert MAX_ANSWER_BYTES - 20 * KIB < answer.ByteSize() <= MAX_ANSWER_BYTES
    assert answer.report.exact


def test_five_hundred_of_the_largest_results_fit() -> None:
    """What is kept of every item leaves room: with the largest key of all it is under 3 KiB."""
    answer = pb.BatchCreateMemoriesResponse(results=[pb.MemoryResult(memory=largest_hit().memory)] * 500)
    omit_excess(answer, answer.results)
    assert answer.ByteSize() <= MAX_ANSWER_BYTES < MAX_CLIENT_BYTES
    assert sum(not result.memory.content_omitted for result in answer.results) >= 10


def test_an_answer_within_the_bound_stays_as_it_is() -> None:
    answer = pb.SearchMemoriesResponse(hits=[largest_hit()] * 5)
    before = answer.SerializeToString()
    omit_excess(answer, answer.hits)
    assert answer.SerializeToString() == before


def test_a_context_whose_text_alone_is_too_large_is_refused_with_advice() -> None:
    """A client would refuse it anyway, and not say why."""
    with pytest.raises(DomainError, match="LIMIT_EXCEEDED: max_tokens"):
        check_deliverable(context_pb.BuildContextResponse(text=" " * MAX_CLIENT_BYTES))
