"""Documents for people: pinned ones, moves, deletions by what matches."""

from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import filter_pb2, metadata_pb2, scope_pb2
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.generation import World, contents

ANN = scope_pb2.Scope(user_id="ann")
BOB = scope_pb2.Scope(user_id="bob")
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def a_document(path: str, content: str = "text", **fields: Any) -> m.Memory:
    given = {"kind": m.MEMORY_KIND_DOCUMENT, "scope": ANN, **fields}
    return m.Memory(key=path, content=content, **given)


async def create(world: World, memory: m.Memory) -> m.Memory:
    return (await world.memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))).memory


async def update(world: World, memory: m.Memory, *paths: str) -> m.Memory:
    request = pb.UpdateMemoryRequest(memory=memory, update_mask=FieldMask(paths=paths))
    return (await world.memories.UpdateMemory(request)).memory


async def get(world: World, memory_id: str) -> m.Memory:
    return (await world.memories.GetMemory(pb.GetMemoryRequest(memory_id=memory_id))).memory


async def move(world: World, memory_id: str, key: str, **fields: Any) -> m.Memory:
    request = pb.MoveMemoryRequest(memory_id=memory_id, key=key, **fields)
    return (await world.memories.MoveMemory(request)).memory


def below(prefix: str) -> filter_pb2.Filter:
    comparison = filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=["key"]),
        comparator=filter_pb2.COMPARATOR_PREFIX,
        values=[metadata_pb2.MetadataValue(string_value=prefix)],
    )
    return filter_pb2.Filter(comparison=comparison)


async def delete(world: World, **fields: Any) -> tuple[int, int]:
    reply = await world.memories.DeleteMemories(pb.DeleteMemoriesRequest(**fields))
    return reply.matching_count, reply.deleted_count


async def paths(world: World) -> list[str]:
    return sorted(memory.key for memory in await world.all())


async def test_a_moved_document_keeps_its_id_and_history(world: World) -> None:
    written = await create(world, a_document("/a"))
    moved = await move(world, written.memory_id, "/b/c")
    assert (moved.memory_id, moved.key, moved.revision) == (written.memory_id, "/b/c", 2)
    assert await get(world, written.memory_id) == moved
    listed = await world.memories.ListMemoryRevisions(
        pb.ListMemoryRevisionsRequest(memory_id=written.memory_id)
    )
    assert [each.memory.key for each in listed.revisions] == ["/b/c", "/a"]


async def test_a_moved_document_leaves_its_path_free(world: World) -> None:
    written = await create(world, a_document("/a"))
    await move(world, written.memory_id, "/b")
    await create(world, a_document("/a"))
    assert await paths(world) == ["/a", "/b"]


async def test_a_moved_document_is_still_found_by_meaning(world: World) -> None:
    written = await create(world, a_document("/a", "green tea"))
    assert (await move(world, written.memory_id, "/b")).has_embedding


async def test_a_taken_path_is_refused(world: World) -> None:
    first, _ = await create(world, a_document("/a")), await create(world, a_document("/b"))
    expected = (grpc.StatusCode.ALREADY_EXISTS, "KEY_TAKEN", "key")
    assert await refusal(move(world, first.memory_id, "/b")) == expected
    assert await paths(world) == ["/a", "/b"]


async def test_another_actor_s_path_is_not_in_the_way(world: World) -> None:
    written = await create(world, a_document("/a"))
    await create(world, a_document("/b", scope=BOB))
    assert (await move(world, written.memory_id, "/b")).key == "/b"


async def test_a_move_expects_a_revision(world: World) -> None:
    written = await create(world, a_document("/a"))
    assert (await refusal(move(world, written.memory_id, "/b", expected_revision=9)))[
        1
    ] == "REVISION_MISMATCH"


@pytest.mark.parametrize("key", ["", "b", "/", "/a//b", "/a/../b", "/a/."])
async def test_a_path_that_breaks_the_rule_is_refused(world: World, key: str) -> None:
    written = await create(world, a_document("/a"))
    assert await refusal(move(world, written.memory_id, key)) == (INVALID, "INVALID_FIELD", "key")


async def test_only_documents_move(world: World) -> None:
    fact = await create(world, m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="tea", key="k", scope=ANN))
    expected = (INVALID, "INVALID_FIELD", "memory_id")
    assert await refusal(move(world, fact.memory_id, "/b")) == expected


async def test_what_is_not_there_does_not_move(world: World) -> None:
    assert (await refusal(move(world, "nowhere", "/b")))[1] == "MEMORY_NOT_FOUND"


async def test_a_deletion_counts_before_it_deletes(world: World) -> None:
    for path in ("/notes/a", "/notes/b", "/todo"):
        await create(world, a_document(path))
    assert await delete(world, filter=below("/notes/")) == (2, 0)
    assert await paths(world) == ["/notes/a", "/notes/b", "/todo"]
    assert await delete(world, filter=below("/notes/"), force=True) == (2, 2)
    assert await paths(world) == ["/todo"]


async def test_what_was_deleted_so_comes_back(world: World) -> None:
    written = await create(world, a_document("/notes/a"))
    await delete(world, filter=below("/notes/"), force=True)
    back = pb.RollbackMemoryRequest(memory_id=written.memory_id, target_revision=1)
    assert (await world.memories.RollbackMemory(back)).memory.key == "/notes/a"


async def test_a_deletion_goes_in_steps(world: World) -> None:
    request = pb.BatchCreateMemoriesRequest(memories=[a_document(f"/n/{number}") for number in range(500)])
    await world.memories.BatchCreateMemories(request)
    await create(world, a_document("/n/more"))
    matching = scope_pb2.ScopeFilter(matching=ANN)
    assert await delete(world, scope=matching, force=True) == (501, 500)
    assert await delete(world, scope=matching, force=True) == (1, 1)


async def test_a_deletion_says_which(world: World) -> None:
    assert await refusal(delete(world, force=True)) == (INVALID, "INVALID_FIELD", "filter")


async def test_a_user_deletes_only_its_own(world: World, project_id: UUID) -> None:
    await create(world, a_document("/a", visibility=scope_pb2.VISIBILITY_PRIVATE))
    await create(world, a_document("/b", scope=BOB, visibility=scope_pb2.VISIBILITY_PROJECT))
    request = pb.DeleteMemoriesRequest(kinds=[m.MEMORY_KIND_DOCUMENT], force=True)
    reply = await world.memories.DeleteMemories(request, metadata=as_user(project_id, "ann"))
    assert (reply.matching_count, reply.deleted_count) == (1, 1)
    assert await paths(world) == ["/b"]


async def test_a_pin_is_kept_until_it_is_taken_away(world: World) -> None:
    written = await create(world, a_document("/a", pinned=True))
    assert written.pinned
    put = await world.memories.PutMemory(pb.PutMemoryRequest(memory=a_document("/a", "new")))
    assert (put.memory.content, put.memory.pinned) == ("new", True)
    assert not (await update(world, m.Memory(memory_id=written.memory_id), "pinned")).pinned


async def test_a_rollback_leaves_the_pin_as_it_is(world: World) -> None:
    written = await create(world, a_document("/a"))
    await update(world, m.Memory(memory_id=written.memory_id, pinned=True), "pinned")
    back = pb.RollbackMemoryRequest(memory_id=written.memory_id, target_revision=1)
    assert (await world.memories.RollbackMemory(back)).memory.pinned


async def test_what_is_pinned_is_not_changed_by_what_is_learned(world: World) -> None:
    await world.state("I live in Rome.")
    [rome] = await world.all()
    await update(world, m.Memory(memory_id=rome.memory_id, pinned=True), "pinned")
    await world.say("I live in Berlin.")
    await world.learn()
    assert contents(await world.all()) == ["I live in Berlin.", "I live in Rome."]
