"""A service acts as an end user for one call: what that call sees and writes is the user's."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

import grpc
import grpc.aio
import pytest

from ricordo.v1 import (
    identity_service_pb2,
    memory_pb2,
    memory_service_pb2,
    project_service_pb2_grpc,
    scope_pb2,
    store_service_pb2_grpc,
)
from ricordo.v1 import store_service_pb2 as stores_pb
from ricordo.v1.store_pb2 import Store
from tests.fixtures.calls import OPERATOR, Metadata, as_user, refusal
from tests.fixtures.project_settings import update
from tests.fixtures.stubs import Identity, Memories

pb = memory_service_pb2
DENIED = grpc.StatusCode.PERMISSION_DENIED
INVALID = grpc.StatusCode.INVALID_ARGUMENT
PRIVATE, PROJECT = scope_pb2.VISIBILITY_PRIVATE, scope_pb2.VISIBILITY_PROJECT


def acting(user_id: str) -> Metadata:
    return (("ricordo-act-as", quote(user_id)),)


def creation(
    user_id: str, content: str = "tea", request_id: str = "", **fields: Any
) -> pb.CreateMemoryRequest:
    memory = memory_pb2.Memory(
        kind=memory_pb2.MEMORY_KIND_SEMANTIC,
        content=content,
        scope=scope_pb2.Scope(user_id=user_id),
        **fields,
    )
    return pb.CreateMemoryRequest(memory=memory, request_id=request_id)


async def list_contents(memories: Memories, **call: Any) -> list[str]:
    reply = await memories.ListMemories(pb.ListMemoriesRequest(), **call)
    return sorted(memory.content for memory in reply.memories)


async def test_the_call_sees_what_the_user_sees(memories: Memories) -> None:
    await memories.CreateMemory(creation("ann", "ann's"))
    await memories.CreateMemory(creation("bob", "bob's"))
    await memories.CreateMemory(creation("bob", "everyone's", visibility=PROJECT))
    assert await list_contents(memories, metadata=acting("ann")) == ["ann's", "everyone's"]
    assert await list_contents(memories) == ["ann's", "bob's", "everyone's"]


@pytest.mark.parametrize("request_", [creation("bob"), creation(""), creation("ann", visibility=PROJECT)])
async def test_the_call_writes_in_the_user_s_name_only(
    memories: Memories, request_: pb.CreateMemoryRequest
) -> None:
    code, reason, _ = await refusal(memories.CreateMemory(request_, metadata=acting("ann")))
    assert (code, reason) == (DENIED, "PERMISSION_DENIED")
    assert await list_contents(memories) == []


async def test_the_call_may_not_name_another_user(memories: Memories) -> None:
    scope = scope_pb2.ScopeFilter(matching=scope_pb2.Scope(user_id="bob"))
    code, _, field = await refusal(
        memories.ListMemories(pb.ListMemoriesRequest(scope=scope), metadata=acting("ann"))
    )
    assert (code, field) == (DENIED, "scope")


async def test_the_call_administers_nothing(channel: grpc.aio.Channel) -> None:
    projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    stores = store_service_pb2_grpc.StoreServiceStub(channel)
    for call in (
        projects.UpdateProject(update(language="german"), metadata=acting("ann")),
        stores.CreateStore(
            stores_pb.CreateStoreRequest(store=Store(store_id="notes")), metadata=acting("ann")
        ),
    ):
        assert (await refusal(call))[0] is DENIED


async def test_a_request_id_belongs_to_the_user_it_was_sent_for(memories: Memories) -> None:
    first = await memories.CreateMemory(creation("ann", request_id="r1"), metadata=acting("ann"))
    second = await memories.CreateMemory(creation("bob", request_id="r1"), metadata=acting("bob"))
    again = await memories.CreateMemory(creation("ann", request_id="r1"), metadata=acting("ann"))
    assert again == first
    assert second.memory.memory_id != first.memory.memory_id


@pytest.mark.parametrize("user_id", ["ann", "änne/ß %41", "📎", "a,b"])
async def test_the_user_is_the_one_that_was_named(identity: Identity, user_id: str) -> None:
    who = await identity.WhoAmI(identity_service_pb2.WhoAmIRequest(), metadata=acting(user_id))
    assert list(who.user_ids) == [user_id]
    assert (who.kind, list(who.roles)) == (identity_service_pb2.PRINCIPAL_KIND_USER, ["reader", "writer"])


@pytest.mark.parametrize("token", ["user", OPERATOR])
async def test_nobody_else_acts_as_a_user(
    identity: Identity, project_id: UUID, token: str | Metadata
) -> None:
    credential = as_user(project_id, "bob") if isinstance(token, str) else token
    metadata = [*credential, ("ricordo-act-as", "ann")]
    call = identity.WhoAmI(identity_service_pb2.WhoAmIRequest(), metadata=metadata)
    assert (await refusal(call))[:2] == (DENIED, "PERMISSION_DENIED")


@pytest.mark.parametrize("encoded", ["%ff", "%20", "a" * 513, "a%00b"])
async def test_what_names_no_user_is_refused(identity: Identity, encoded: str) -> None:
    call = identity.WhoAmI(identity_service_pb2.WhoAmIRequest(), metadata=[("ricordo-act-as", encoded)])
    code, _, field = await refusal(call)
    assert (code, field) == (INVALID, "ricordo-act-as")
