"""RollbackMemory, as a generated client sees it."""

from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import (
    metadata_pb2,
    project_service_pb2_grpc,
    scope_pb2,
    search_pb2,
)
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.project_settings import equals, keys, update
from tests.fixtures.stubs import Memories

ANN = scope_pb2.Scope(user_id="ann")


async def create(memories: Memories, content: str, **fields: Any) -> m.Memory:
    memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=content, **{"scope": ANN, **fields})
    return (await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))).memory


async def change(memories: Memories, memory: m.Memory, **fields: Any) -> m.Memory:
    request = pb.UpdateMemoryRequest(
        memory=m.Memory(memory_id=memory.memory_id, **fields), update_mask=FieldMask(paths=list(fields))
    )
    return (await memories.UpdateMemory(request)).memory


def back(memory: m.Memory, revision: int = 1, **fields: Any) -> pb.RollbackMemoryRequest:
    return pb.RollbackMemoryRequest(memory_id=memory.memory_id, target_revision=revision, **fields)


async def test_a_memory_is_what_it_was_as_a_new_revision(memories: Memories) -> None:
    first = await create(memories, "blue", title="colour", tags=["a"])
    await change(memories, first, content="red", title="", tags=["b"])
    restored = (await memories.RollbackMemory(back(first))).memory
    assert (restored.content, restored.title, list(restored.tags)) == ("blue", "colour", ["a"])
    assert (restored.revision, restored.create_time) == (3, first.create_time)
    assert restored.has_embedding


async def test_a_rollback_can_be_rolled_back(memories: Memories) -> None:
    first = await create(memories, "blue")
    await change(memories, first, content="red")
    await memories.RollbackMemory(back(first))
    assert (await memories.RollbackMemory(back(first, 2))).memory.content == "red"


async def test_a_deleted_memory_comes_back(memories: Memories) -> None:
    first = await create(memories, "blue")
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.memory_id))
    await memories.RollbackMemory(back(first))
    found = (await memories.GetMemory(pb.GetMemoryRequest(memory_id=first.memory_id))).memory
    assert (found.content, found.revision, found.HasField("delete_time")) == ("blue", 3, False)


async def test_semantic_search_finds_what_it_says_now(memories: Memories) -> None:
    first = await create(memories, "a green boat")
    await change(memories, first, content="two red cars")
    await memories.RollbackMemory(back(first))
    options = search_pb2.SearchOptions(query="a green boat", mode=search_pb2.SEARCH_MODE_SEMANTIC)
    [hit] = (await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))).hits
    assert hit.score == pytest.approx(1, abs=1e-3)


async def test_filters_find_the_metadata_that_it_has_again(
    memories: Memories, channel: grpc.aio.Channel
) -> None:
    projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    await projects.UpdateProject(update(metadata_keys=keys(plan="string")))
    first = await create(memories, "a", metadata={"plan": metadata_pb2.MetadataValue(string_value="old")})
    await change(memories, first, metadata={"plan": metadata_pb2.MetadataValue(string_value="new")})
    await memories.RollbackMemory(back(first))
    for value, count in (("old", 1), ("new", 0)):
        request = pb.ListMemoriesRequest(filter=equals("metadata.plan", string_value=value))
        assert len((await memories.ListMemories(request)).memories) == count


async def test_metadata_that_is_declared_otherwise_by_now_does_not_come_back(
    memories: Memories, channel: grpc.aio.Channel
) -> None:
    first = await create(memories, "a", metadata={"plan": metadata_pb2.MetadataValue(string_value="old")})
    await change(memories, first, metadata={})
    projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    await projects.UpdateProject(update(metadata_keys=keys(plan="number")))
    assert (await refusal(memories.RollbackMemory(back(first))))[1] == "INVALID_FIELD"


async def test_when_it_ends_stays_as_it_is(memories: Memories) -> None:
    first = await create(memories, "a")
    await change(memories, first, expire_time=Timestamp(seconds=4_000_000_000))
    restored = (await memories.RollbackMemory(back(first))).memory
    assert restored.expire_time.seconds == 4_000_000_000


async def test_the_deletion_is_no_revision_to_go_back_to(memories: Memories) -> None:
    first = await create(memories, "a")
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.memory_id))
    refused = await refusal(memories.RollbackMemory(back(first, 2)))
    assert refused == (grpc.StatusCode.FAILED_PRECONDITION, "REVISION_NOT_LIVE", "target_revision")


async def test_a_key_that_another_memory_has_by_now_is_taken(memories: Memories) -> None:
    first = await create(memories, "a", key="k")
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.memory_id))
    await create(memories, "b", key="k")
    refused = await refusal(memories.RollbackMemory(back(first)))
    assert refused == (grpc.StatusCode.ALREADY_EXISTS, "KEY_TAKEN", "memory_id")


@pytest.mark.parametrize(
    ("revision", "fields", "reason"),
    [
        (9, {}, "REVISION_NOT_FOUND"),
        (0, {}, "REVISION_NOT_FOUND"),
        (1, {"expected_revision": 7}, "REVISION_MISMATCH"),
    ],
)
async def test_what_is_not_there_is_refused(
    memories: Memories, revision: int, fields: dict[str, int], reason: str
) -> None:
    first = await create(memories, "a")
    assert (await refusal(memories.RollbackMemory(back(first, revision, **fields))))[1] == reason


async def test_a_purged_memory_does_not_come_back(memories: Memories) -> None:
    first = await create(memories, "a")
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.memory_id, purge=True))
    assert (await refusal(memories.RollbackMemory(back(first))))[1] == "MEMORY_NOT_FOUND"


async def test_a_repeat_with_a_request_id_writes_once(memories: Memories) -> None:
    first = await create(memories, "a")
    request = back(first, request_id="r")
    assert await memories.RollbackMemory(request) == await memories.RollbackMemory(request)
    kept = await memories.ListMemoryRevisions(pb.ListMemoryRevisionsRequest(memory_id=first.memory_id))
    assert len(kept.revisions) == 2


async def test_an_end_user_does_not_publish_by_rolling_back(memories: Memories, project_id: UUID) -> None:
    first = await create(memories, "a", visibility=scope_pb2.VISIBILITY_PROJECT)
    await change(memories, first, visibility=scope_pb2.VISIBILITY_PRIVATE)
    call = memories.RollbackMemory(back(first), metadata=as_user(project_id, "ann"))
    assert (await refusal(call))[1] == "PERMISSION_DENIED"
