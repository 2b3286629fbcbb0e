"""A restricted store: for whom it is not granted to it does not exist, by every RPC; a grant to read is no more."""

from collections.abc import Iterator
from typing import TypeAlias

import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from ricordo.v1 import store_pb2, store_service_pb2
from tests.fixtures.database import TestDatabase
from tests.isolation.rpc_world import RPCS, Answer, Names, Place, ask, bound, fill, make_place, service
from tests.isolation.test_every_rpc import CASES, channel, set_fields

__all__ = ["channel"]  # the fixture

pytestmark = pytest.mark.asyncio(loop_scope="module")

pb = store_service_pb2
Access: TypeAlias = "store_pb2.GrantedAccess.ValueType"
READ, WRITE = store_pb2.GRANTED_ACCESS_READ, store_pb2.GRANTED_ACCESS_WRITE
RESTRICTED, OPEN = store_pb2.STORE_ACCESS_RESTRICTED, store_pb2.STORE_ACCESS_OPEN
ABSENT = "abstracted"  # as long as "restricted"
IN_STORES = [
    rpc
    for rpc in CASES
    if "store_id" in RPCS[rpc].input_type.fields_by_name and not rpc.startswith("StoreService")
]
WRITES = [rpc for rpc in IN_STORES if "request_id" in RPCS[rpc].input_type.fields_by_name]


@pytest_asyncio.fixture(loop_scope="module")
async def restricted(channel: grpc.aio.Channel, database: TestDatabase) -> Place:
    """A filled store of the development service's own, in a project where Ann has none of it."""
    here = make_place(database)
    place = Place(here.project_id, "restricted", Names())
    store = store_pb2.Store(store_id="restricted", access=RESTRICTED)
    assert (await ask_store(channel, "CreateStore", pb.CreateStoreRequest(store=store), place)).reply
    return await fill(channel, place)


async def ask_store(
    channel: grpc.aio.Channel, rpc: str, request: Message, place: Place, token: str = ""
) -> Answer:
    return await ask(channel, f"StoreService.{rpc}", request, token or service(place), place.names)


async def grant(channel: grpc.aio.Channel, place: Place, access: Access) -> None:
    granted = store_pb2.StoreGrant(store_id=place.store_id, principal_id="user:ann", access=access)
    assert (await ask_store(channel, "GrantAccess", pb.GrantAccessRequest(grant=granted), place)).reply


def requests(rpc: str, store_id: str, names: Names) -> Iterator[Message]:
    for request in CASES[rpc](names):
        set_fields(request, {"store_id": store_id, "request_id": ""})
        yield request


@pytest.mark.parametrize("rpc", IN_STORES)
async def test_without_a_grant_the_store_is_as_absent(
    channel: grpc.aio.Channel, restricted: Place, rpc: str
) -> None:
    token = bound(restricted, "ann")
    for known, unknown in zip(
        requests(rpc, restricted.store_id, restricted.names),
        requests(rpc, ABSENT, restricted.names),
        strict=True,
    ):
        there, absent = [
            await ask(channel, rpc, request, token, restricted.names) for request in (known, unknown)
        ]
        assert there.reason in (
            "STORE_NOT_FOUND",
            "PERMISSION_DENIED",
        )  # the second for what nobody bound may do
        assert there.text == absent.text.replace(ABSENT, restricted.store_id)


@pytest.mark.parametrize(
    ("rpc", "request_"),
    [
        ("GetStore", pb.GetStoreRequest(store_id="restricted")),
        ("ListGrants", pb.ListGrantsRequest(store_id="restricted")),
    ],
)
async def test_nor_is_it_told_of(
    channel: grpc.aio.Channel, restricted: Place, rpc: str, request_: Message
) -> None:
    answer = await ask_store(channel, rpc, request_, restricted, bound(restricted, "ann"))
    assert answer.reason == ("STORE_NOT_FOUND" if rpc == "GetStore" else "PERMISSION_DENIED")
    listed = await ask_store(
        channel, "ListStores", pb.ListStoresRequest(), restricted, bound(restricted, "ann")
    )
    assert "restricted" not in {store.store_id for store in listed.reply.stores}


@pytest.mark.parametrize("access", [READ, WRITE])
@pytest.mark.parametrize("rpc", IN_STORES)
async def test_a_grant_opens_it_as_far_as_it_goes(
    channel: grpc.aio.Channel, restricted: Place, rpc: str, access: Access
) -> None:
    await grant(channel, restricted, access)
    for request in requests(rpc, restricted.store_id, restricted.names):
        reason = (await ask(channel, rpc, request, bound(restricted, "ann"), restricted.names)).reason
        assert reason != "STORE_NOT_FOUND"
        if access == READ and rpc in WRITES and not getattr(request, "dry_run", False):
            assert reason == "PERMISSION_DENIED"


async def test_a_writer_of_it_changes_neither_the_store_nor_its_grants(
    channel: grpc.aio.Channel, restricted: Place
) -> None:
    """An end user manages no store at all; what a service with a grant may is the policies' test."""
    await grant(channel, restricted, WRITE)
    store = store_pb2.Store(store_id="restricted", access=OPEN)
    for rpc, request in (
        ("UpdateStore", pb.UpdateStoreRequest(store=store, update_mask=FieldMask(paths=["access"]))),
        ("DeleteStore", pb.DeleteStoreRequest(store_id="restricted", force=True)),
        ("RevokeAccess", pb.RevokeAccessRequest(store_id="restricted", principal_id="user:ann")),
    ):
        answer = await ask_store(channel, rpc, request, restricted, bound(restricted, "ann"))
        assert answer.reason == "PERMISSION_DENIED"


async def test_what_is_revoked_is_gone(channel: grpc.aio.Channel, restricted: Place) -> None:
    await grant(channel, restricted, READ)
    revoke = pb.RevokeAccessRequest(store_id="restricted", principal_id="user:ann")
    for _ in range(2):
        assert (await ask_store(channel, "RevokeAccess", revoke, restricted)).reply is not None
    answer = await ask_store(
        channel,
        "GetStore",
        pb.GetStoreRequest(store_id="restricted"),
        restricted,
        bound(restricted, "ann"),
    )
    assert answer.reason == "STORE_NOT_FOUND"


async def test_grants_are_listed_by_principal_and_changed_by_granting_again(
    channel: grpc.aio.Channel, restricted: Place
) -> None:
    for principal_id, access in (("zoe", READ), ("user:ann", READ), ("user:ann", WRITE)):
        granted = store_pb2.StoreGrant(store_id="restricted", principal_id=principal_id, access=access)
        answer = await ask_store(channel, "GrantAccess", pb.GrantAccessRequest(grant=granted), restricted)
        assert answer.reply.grant.access == access
    listed = await ask_store(channel, "ListGrants", pb.ListGrantsRequest(store_id="restricted"), restricted)
    assert [(each.principal_id, each.access) for each in listed.reply.grants] == [
        ("user:ann", WRITE),
        ("zoe", READ),
    ]


async def test_an_open_store_needs_no_grant_and_one_is_kept_for_later(
    channel: grpc.aio.Channel, restricted: Place
) -> None:
    user = bound(restricted, "ann")
    read = pb.GetStoreRequest(store_id="restricted")

    async def set_access(access: "store_pb2.StoreAccess.ValueType") -> None:
        store = store_pb2.Store(store_id="restricted", access=access)
        mask = FieldMask(paths=["access"])
        request = pb.UpdateStoreRequest(store=store, update_mask=mask)
        assert (await ask_store(channel, "UpdateStore", request, restricted)).reply.store.access == access

    await set_access(OPEN)
    assert (await ask_store(channel, "GetStore", read, restricted, user)).reply.store.access == OPEN
    await grant(channel, restricted, READ)
    await set_access(RESTRICTED)
    assert (await ask_store(channel, "GetStore", read, restricted, user)).reply


@pytest.mark.parametrize(
    ("field", "grant_"),
    [
        ("grant.access", store_pb2.StoreGrant(store_id="restricted", principal_id="p")),
        ("grant.principal_id", store_pb2.StoreGrant(store_id="restricted", access=READ)),
        ("grant.store_id", store_pb2.StoreGrant(principal_id="p", access=READ)),
    ],
)
async def test_what_a_grant_lacks_is_named(
    channel: grpc.aio.Channel, restricted: Place, field: str, grant_: store_pb2.StoreGrant
) -> None:
    answer = await ask_store(channel, "GrantAccess", pb.GrantAccessRequest(grant=grant_), restricted)
    assert answer.reason == "INVALID_FIELD"
    assert field in answer.text


async def test_a_taken_id_is_told_whether_one_may_see_the_store_or_not(
    channel: grpc.aio.Channel, restricted: Place
) -> None:
    """Ids are the project's: that one is taken is all that a service learns."""
    create = pb.CreateStoreRequest(store=store_pb2.Store(store_id="restricted"))
    assert (await ask_store(channel, "CreateStore", create, restricted)).reason == "ID_TAKEN"
