"""MemoryService over a real server, as a generated client sees it."""

from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import scope_pb2, search_pb2
from tests.fixtures.stubs import Memories


def fact(content: str, **fields: Any) -> m.Memory:
    return m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=content, **fields)


async def test_a_memory_comes_back_as_it_was_written(memories: Memories) -> None:
    scope = scope_pb2.Scope(user_id="ann", labels={"team": "blue"})
    created = (
        await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact("Ann likes tea", scope=scope)))
    ).memory
    read = (await memories.GetMemory(pb.GetMemoryRequest(memory_id=created.memory_id))).memory
    assert read == created
    assert (read.content, read.revision, read.has_embedding) == ("Ann likes tea", 1, True)
    assert read.scope == scope


async def test_search_finds_by_words_and_by_meaning(memories: Memories) -> None:
    for content in ("Ann likes green tea", "Bob drives a red car"):
        await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact(content)))
    for mode in (search_pb2.SEARCH_MODE_TEXT, search_pb2.SEARCH_MODE_SEMANTIC, search_pb2.SEARCH_MODE_HYBRID):
        options = search_pb2.SearchOptions(query="green tea", mode=mode, explain=True)
        answer = await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))
        assert answer.hits[0].memory.content == "Ann likes green tea"
        assert answer.report.effective_mode == mode


async def test_update_writes_a_revision(memories: Memories) -> None:
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact("old", title="t")))).memory
    change = m.Memory(memory_id=created.memory_id, content="new")
    updated = (
        await memories.UpdateMemory(
            pb.UpdateMemoryRequest(
                memory=change, update_mask=FieldMask(paths=["content"]), expected_revision=1
            )
        )
    ).memory
    assert (updated.content, updated.title, updated.revision, updated.has_embedding) == ("new", "t", 2, True)
    listed = await memories.ListMemoryRevisions(pb.ListMemoryRevisionsRequest(memory_id=created.memory_id))
    assert [revision.memory.content for revision in listed.revisions] == ["new", "old"]


async def test_put_creates_then_replaces_then_appends(memories: Memories) -> None:
    def put(content: str, **fields: Any) -> pb.PutMemoryRequest:
        return pb.PutMemoryRequest(memory=fact(content, key="tea"), **fields)

    assert (await memories.PutMemory(put("green"))).created
    replaced = await memories.PutMemory(put("black"))
    assert (replaced.created, replaced.memory.content) == (False, "black")
    appended = await memories.PutMemory(put("white", append=True))
    assert appended.memory.content == "black\nwhite"
    again = await memories.PutMemory(put("white", append=True))
    assert (again.memory.content, again.memory.revision) == ("black\nwhite", appended.memory.revision)


async def test_a_repeated_request_id_gets_the_first_answer(memories: Memories) -> None:
    request = pb.CreateMemoryRequest(memory=fact("once"), request_id="r1")
    first = await memories.CreateMemory(request)
    assert await memories.CreateMemory(request) == first
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact("other"), request_id="r1"))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_batch_of_which_nothing_can_be_written_says_why(memories: Memories) -> None:
    answer = await memories.BatchCreateMemories(
        pb.BatchCreateMemoriesRequest(memories=[m.Memory(content="no kind"), fact("")])
    )
    assert [result.error.field for result in answer.results] == ["memories[0].kind", "memories[1].content"]


async def test_a_hit_comes_with_its_vector_when_asked(memories: Memories) -> None:
    await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact("green tea")))
    options = search_pb2.SearchOptions(query="tea")
    answer = await memories.SearchMemories(pb.SearchMemoriesRequest(options=options, include_embedding=True))
    assert [len(hit.embedding) for hit in answer.hits] == [64]


async def test_pages_of_large_memories_end_early_and_miss_none(memories: Memories) -> None:
    for number in range(16):
        await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact(f"{number:02}" + "x" * 262_000)))
    seen, token, pages = [], "", 0
    while pages == 0 or token:
        page = await memories.ListMemories(pb.ListMemoriesRequest(page_size=1000, page_token=token))
        assert page.ByteSize() < 4 * 1024 * 1024
        seen += [memory.content[:2] for memory in page.memories]
        token, pages = page.next_page_token, pages + 1
    assert seen == [f"{number:02}" for number in reversed(range(16))]
    assert pages == 2
