"""What a caller chooses tells it nothing of others: a key or an id that somebody else has is as free as any."""

from typing import Any
from uuid import UUID

from ricordo.v1 import memory_pb2, memory_service_pb2, scope_pb2
from tests.fixtures.calls import Metadata, as_service, as_user
from tests.fixtures.database import TestDatabase, make_project
from tests.fixtures.stubs import Memories

pb = memory_service_pb2
TRIED, BATCH = 1_000, 500


def memory(name: str, user_id: str, **fields: Any) -> memory_pb2.Memory:
    return memory_pb2.Memory(
        kind=memory_pb2.MEMORY_KIND_SEMANTIC,
        content=name,
        scope=scope_pb2.Scope(user_id=user_id),
        **fields,
    )


async def create(memories: Memories, given: list[memory_pb2.Memory], metadata: Metadata) -> list[str]:
    """What became of each, without what differs anyway."""
    outcomes = []
    for start in range(0, len(given), BATCH):
        request = pb.BatchCreateMemoriesRequest(memories=given[start : start + BATCH])
        reply = await memories.BatchCreateMemories(request, metadata=metadata)
        outcomes += [result.WhichOneof("outcome") + str(result.error.reason) for result in reply.results]
    return outcomes


async def test_no_key_of_another_user_is_told_from_a_free_one(memories: Memories, project_id: UUID) -> None:
    names = [f"key-{number}" for number in range(TRIED)]
    bobs = [memory(name, "bob", key=name) for name in names[::2]]
    assert set(await create(memories, bobs, as_service(project_id))) == {"memory0"}
    anns = [memory(name, "ann", key=name) for name in names]
    assert set(await create(memories, anns, as_user(project_id, "ann"))) == {"memory0"}


async def test_no_id_of_another_project_is_told_from_a_free_one(
    memories: Memories, database: TestDatabase, project_id: UUID
) -> None:
    names = [f"m-{number}" for number in range(TRIED)]
    other = as_service(make_project(database))
    theirs = [memory(name, "ann", memory_id=name, key=name) for name in names[::2]]
    assert set(await create(memories, theirs, other)) == {"memory0"}
    own = [memory(name, "ann", memory_id=name, key=name) for name in names]
    assert set(await create(memories, own, as_service(project_id))) == {"memory0"}


async def test_a_user_may_not_even_try_ids(memories: Memories, project_id: UUID) -> None:
    given = [memory(f"m-{number}", "ann", memory_id=f"m-{number}") for number in range(10)]
    [outcome] = set(await create(memories, given, as_user(project_id, "ann")))
    assert outcome.startswith("error")
