"""Fields whose values widen, empty or break something when they are taken as they come."""

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import (
    scope_pb2,
    search_pb2,
    session_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
)
from ricordo_server.domain.errors import DomainError
from ricordo_server.embedding.hashing import HashingEmbedder
from ricordo_server.rpc.interceptors import Deadline
from tests.fixtures.calls import refusal
from tests.fixtures.stubs import Memories

INVALID = grpc.StatusCode.INVALID_ARGUMENT
Scope = scope_pb2.Scope


def fact(content: str = "tea", **fields: Any) -> m.Memory:
    return m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=content, **fields)


def update(memory: m.Memory, *paths: str) -> pb.UpdateMemoryRequest:
    return pb.UpdateMemoryRequest(memory=memory, update_mask=FieldMask(paths=paths))


BLANK_SCOPES = {
    "user": (Scope(user_id=" "), "user_id"),
    "session": (Scope(user_id="ann", session_id="\t"), "session_id"),
    "empty label": (Scope(labels={"team": ""}), "labels['team']"),
    "blank label": (Scope(labels={"team": " "}), "labels['team']"),
}


@pytest.mark.parametrize(("scope", "field"), BLANK_SCOPES.values(), ids=BLANK_SCOPES)
async def test_a_blank_scope_value_neither_widens_a_read_nor_writes_ownerless(
    memories: Memories, scope: Scope, field: str
) -> None:
    await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact(scope=Scope(user_id="bob"))))
    for rule in ("matching", "exactly"):
        given = scope_pb2.ScopeFilter()
        getattr(given, rule).CopyFrom(scope)
        listing = memories.ListMemories(pb.ListMemoriesRequest(scope=given))
        assert await refusal(listing) == (INVALID, "INVALID_FIELD", f"scope.{rule}.{field}")
    writing = memories.CreateMemory(pb.CreateMemoryRequest(memory=fact(scope=scope)))
    assert await refusal(writing) == (INVALID, "INVALID_FIELD", f"memory.scope.{field}")


async def test_a_blank_session_id_is_not_replaced(channel: grpc.aio.Channel) -> None:
    sessions = session_service_pb2_grpc.SessionServiceStub(channel)
    session = session_pb2.Session(scope=Scope(user_id="ann", session_id=" "))
    call = sessions.CreateSession(session_service_pb2.CreateSessionRequest(session=session))
    assert await refusal(call) == (INVALID, "INVALID_FIELD", "session.scope.session_id")


@pytest.mark.parametrize("name", ["a\0b", "Ticket", ""])
async def test_custom_types_of_a_query_are_checked(memories: Memories, name: str) -> None:
    bad = (INVALID, "INVALID_FIELD", "custom_types[1]")
    names = ["ticket", name]
    assert await refusal(memories.ListMemories(pb.ListMemoriesRequest(custom_types=names))) == bad
    options = search_pb2.SearchOptions(query="tea")
    searching = pb.SearchMemoriesRequest(options=options, custom_types=names)
    assert await refusal(memories.SearchMemories(searching)) == bad


async def test_custom_types_of_a_query_are_counted(memories: Memories) -> None:
    call = memories.ListMemories(pb.ListMemoriesRequest(custom_types=["ticket"] * 65))
    assert await refusal(call) == (INVALID, "LIMIT_EXCEEDED", "custom_types")


@pytest.mark.parametrize(
    ("kind", "name"), [(m.MEMORY_KIND_CUSTOM, "a\0b"), (m.MEMORY_KIND_SEMANTIC, "ticket")]
)
async def test_the_custom_type_of_a_key_is_checked(
    memories: Memories, kind: "m.MemoryKind.ValueType", name: str
) -> None:
    key = pb.MemoryKey(kind=kind, key="k", custom_type=name)
    call = memories.GetMemory(pb.GetMemoryRequest(memory_key=key))
    assert await refusal(call) == (INVALID, "INVALID_FIELD", "memory_key.custom_type")


async def test_a_long_made_key_can_be_read_by(memories: Memories) -> None:
    profile = m.ProfileDetails(schema_id="person", field_name="f" * 512)
    memory = m.Memory(kind=m.MEMORY_KIND_PROFILE, content="x", profile=profile)
    terms = m.TaxonomicDetails(domain="d" * 512, term="t" * 512)
    term = m.Memory(kind=m.MEMORY_KIND_TAXONOMIC, content="x", taxonomic=terms)
    for draft in (memory, term):
        created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=draft))).memory
        assert len(created.key) > 512
        key = pb.MemoryKey(kind=draft.kind, key=created.key)
        assert (await memories.GetMemory(pb.GetMemoryRequest(memory_key=key))).memory == created


async def test_a_hybrid_search_by_vector_alone_says_why_it_was_semantic(memories: Memories) -> None:
    await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact()))
    vector = [1.0] + [0.0] * 63
    options = search_pb2.SearchOptions(query_embedding=vector)
    report = (await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))).report
    assert report.effective_mode == search_pb2.SEARCH_MODE_SEMANTIC
    assert "query text" in report.degraded_reason
    options.query = "tea"
    report = (await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))).report
    assert (report.effective_mode, report.degraded_reason) == (search_pb2.SEARCH_MODE_HYBRID, "")


@pytest.mark.parametrize("content", ["", " \n"])
async def test_an_update_does_not_empty_a_memory(memories: Memories, content: str) -> None:
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact()))).memory
    call = memories.UpdateMemory(update(m.Memory(memory_id=created.memory_id, content=content), "content"))
    assert await refusal(call) == (INVALID, "INVALID_FIELD", "memory.content")


async def test_an_update_may_empty_a_document_and_what_has_steps(memories: Memories) -> None:
    document = m.Memory(kind=m.MEMORY_KIND_DOCUMENT, key="/a", content="x")
    steps = m.ProceduralDetails(steps=["one"])
    procedure = m.Memory(kind=m.MEMORY_KIND_PROCEDURAL, content="x")
    for draft, change, paths in (
        (document, m.Memory(kind=m.MEMORY_KIND_DOCUMENT), ["content"]),
        (procedure, m.Memory(procedural=steps), ["content", "procedural"]),
    ):
        created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=draft))).memory
        change.memory_id = created.memory_id
        assert (await memories.UpdateMemory(update(change, *paths))).memory.content == ""


async def test_a_put_with_a_mask_makes_no_empty_memory(memories: Memories) -> None:
    put = pb.PutMemoryRequest(memory=fact("", key="k", title="t"), update_mask=FieldMask(paths=["title"]))
    assert await refusal(memories.PutMemory(put)) == (INVALID, "INVALID_FIELD", "memory.content")


@pytest.mark.parametrize(("left", "passes"), [(None, True), (60.0, True), (0.0, False), (-1.0, False)])
async def test_a_deadline_that_has_passed_is_not_taken_for_none(left: float | None, passes: bool) -> None:
    class Context:
        def time_remaining(self) -> float | None:
            return left

    async def handler(request: object, context: object) -> str:
        await asyncio.sleep(0.01)
        return "done"

    call = Deadline(longest=60.0).around(handler, None)(object(), Context())
    if passes:
        assert await call == "done"
    else:
        with pytest.raises(DomainError, match="DEADLINE_EXCEEDED"):
            await call


async def test_a_fault_of_the_model_costs_the_vectors_and_not_the_write(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(self: object, texts: object, kind: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(HashingEmbedder, "embed", fail)
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=fact()))).memory
    assert not created.has_embedding
    options = search_pb2.SearchOptions(query="tea")
    answer = await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))
    assert [hit.memory.memory_id for hit in answer.hits] == [created.memory_id]
    assert answer.report.effective_mode == search_pb2.SEARCH_MODE_TEXT
