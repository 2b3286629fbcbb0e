"""MemoryService.ListDomains over a real server."""

from collections.abc import Awaitable
from datetime import timedelta
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import psycopg

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import scope_pb2
from tests.fixtures.calls import Metadata, as_user, refusal
from tests.fixtures.database import TestDatabase
from tests.fixtures.stubs import Memories

INVALID = grpc.StatusCode.INVALID_ARGUMENT
PRIVATE, SHARED = scope_pb2.VISIBILITY_PRIVATE, scope_pb2.VISIBILITY_PROJECT


async def define(
    memories: Memories,
    domain: str,
    term: str,
    user_id: str = "",
    visibility: "scope_pb2.Visibility.ValueType" = SHARED,
) -> m.Memory:
    memory = m.Memory(
        kind=m.MEMORY_KIND_TAXONOMIC,
        content=f"what {term} means",
        taxonomic=m.TaxonomicDetails(domain=domain, term=term),
        scope=scope_pb2.Scope(user_id=user_id),
        visibility=visibility,
    )
    return (await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))).memory


async def list_domains(
    memories: Memories, metadata: Metadata | None = None, **fields: Any
) -> list[tuple[str, int]]:
    answer = await memories.ListDomains(pb.ListDomainsRequest(**fields), metadata=metadata)
    return [(domain.name, domain.term_count) for domain in answer.domains]


async def test_domains_come_by_code_point_with_the_number_of_their_terms(memories: Memories) -> None:
    for domain, term in (("tea", "oolong"), ("Zinc", "ore"), ("tea", "sencha"), ("åre", "ski")):
        await define(memories, domain, term)
    fact = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="no term")
    await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact))
    assert await list_domains(memories) == [("Zinc", 1), ("tea", 2), ("åre", 1)]


async def test_pages_join_without_a_gap_or_a_repeat(memories: Memories) -> None:
    for domain in "cadb":
        for term in ("one", "two"):
            await define(memories, domain, term)
    seen, token = [], ""
    while True:
        answer = await memories.ListDomains(pb.ListDomainsRequest(page_size=3, page_token=token))
        seen += [(domain.name, domain.term_count) for domain in answer.domains]
        token = answer.next_page_token
        if not token:
            break
    assert seen == [("a", 2), ("b", 2), ("c", 2), ("d", 2)]


async def test_deleted_and_expired_terms_do_not_count(memories: Memories, database: TestDatabase) -> None:
    await define(memories, "tea", "oolong")
    gone = await define(memories, "tea", "sencha")
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=gone.memory_id))
    expired = await define(memories, "coffee", "mocha")
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "UPDATE ricordo.memory SET expire_time = now() - %s WHERE memory_id = %s",
            [timedelta(seconds=1), expired.memory_id],
        )
    assert await list_domains(memories) == [("tea", 1)]


async def test_scope_and_visibility_narrow_whose_terms_count(memories: Memories, project_id: UUID) -> None:
    await define(memories, "shared", "one", "bob")
    await define(memories, "ann's", "one", "ann", PRIVATE)
    await define(memories, "bob's", "one", "bob", PRIVATE)
    matching = scope_pb2.ScopeFilter(matching=scope_pb2.Scope(user_id="bob"))
    readable = scope_pb2.ScopeFilter(readable_by=scope_pb2.ReadableBy(user_id="ann"))
    assert await list_domains(memories, scope=matching) == [("bob's", 1), ("shared", 1)]
    assert await list_domains(memories, scope=readable) == [("ann's", 1), ("shared", 1)]
    assert await list_domains(memories, visibility=SHARED) == [("shared", 1)]
    assert await list_domains(memories, as_user(project_id, "ann")) == [("ann's", 1), ("shared", 1)]


async def test_what_makes_no_sense_is_refused(memories: Memories) -> None:
    def ask(**fields: Any) -> Awaitable[tuple[grpc.StatusCode, str, str]]:
        return refusal(memories.ListDomains(pb.ListDomainsRequest(**fields)))

    nobody = scope_pb2.ScopeFilter(exactly=scope_pb2.Scope())
    assert await ask(page_size=0) == (INVALID, "INVALID_FIELD", "page_size")
    assert await ask(page_size=1_001) == (INVALID, "INVALID_FIELD", "page_size")
    assert await ask(page_token="x") == (INVALID, "INVALID_PAGE_TOKEN", "page_token")
    assert await ask(visibility=9) == (INVALID, "INVALID_FIELD", "visibility")
    assert await ask(scope=nobody) == (INVALID, "SCOPE_REQUIRED", "scope.exactly")
    assert (await ask(store_id="nowhere"))[1] == "STORE_NOT_FOUND"
