"""Without a good credential no RPC answers, and whatever else a call says, its project is the credential's."""

from collections.abc import AsyncIterator
from uuid import uuid4

import grpc.aio
import pytest
import pytest_asyncio

from ricordo.v1 import identity_service_pb2, identity_service_pb2_grpc
from ricordo_server.server import running_server
from tests.fixtures.calls import bytes_call
from tests.fixtures.database import TestDatabase, make_project
from tests.isolation.rpc_world import RPCS, Names, absent, ask, fill, make_place, service
from tests.isolation.test_every_rpc import CASES, shows
from tests.proof.conftest import Tally
from tests.proof.world import channel, settings_of  # noqa: F401 - a fixture among them

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("credentials")]

# Brings its credential in the request.
WITHOUT = {"IdentityService.IssueToken"}
HEADERS: list[list[tuple[str, str]]] = [
    [],
    [("authorization", "")],
    [("authorization", "Bearer")],
    [("authorization", "Bearer ")],
    [("authorization", "Basic YTpi")],
    [("authorization", "Bearer development:operator")],
    [("authorization", f"Bearer development:{uuid4()}")],
    [("authorization", "Bearer a.b.c")],
    [("authorization", "bearer " + "x" * 4_000)],
    [("x-authorization", f"Bearer development:{uuid4()}")],
]
# Names under which other systems take a tenant.
TENANT_HEADERS = (
    "project",
    "project-id",
    "project_id",
    "x-project-id",
    "x-tenant-id",
    "tenant",
    "ricordo-project-id",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def closed(database: TestDatabase) -> AsyncIterator[grpc.aio.Channel]:
    """A server without the development principal."""
    async with (
        running_server(settings_of(database)) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as opened,
    ):
        yield opened


async def test_every_rpc_is_refused_without_a_good_credential(closed: grpc.aio.Channel, tally: Tally) -> None:
    for rpc, method in RPCS.items():
        if rpc in WITHOUT:
            continue
        call = bytes_call(closed, f"/{method.containing_service.full_name}/{method.name}")
        for metadata in HEADERS:
            code = grpc.StatusCode.OK
            try:
                await call(b"", metadata=metadata)
            except grpc.aio.AioRpcError as error:
                code = error.code()
            tally.count(code is grpc.StatusCode.UNAUTHENTICATED, (rpc, metadata, code))
    assert not tally.failures


async def test_health_answers_without(closed: grpc.aio.Channel) -> None:
    assert await bytes_call(closed, "/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"


async def test_no_request_of_a_tenant_names_one(tally: Tally) -> None:
    for rpc, method in RPCS.items():
        if not rpc.startswith("AdminService"):
            tally.count("project_id" not in method.input_type.fields_by_name, rpc)
    assert not tally.failures


async def test_another_project_in_the_metadata_changes_nothing(
    channel: grpc.aio.Channel,  # noqa: F811
    database: TestDatabase,
    tally: Tally,
) -> None:
    theirs = await fill(channel, make_place(database))
    mine = make_project(database)
    who = identity_service_pb2.WhoAmIRequest.DESCRIPTOR.full_name
    for name in TENANT_HEADERS:
        metadata = [("authorization", f"Bearer development:{mine}"), (name, str(theirs.project_id))]
        call = identity_service_pb2_grpc.IdentityServiceStub(channel).WhoAmI
        told = await call(identity_service_pb2.WhoAmIRequest(), metadata=metadata)
        tally.count(told.project_id == str(mine), (who, name))
    for rpc, case in CASES.items():
        for request in case(absent(theirs.names)):
            answer = await ask(channel, rpc, request, f"development:{mine}", Names())
            tally.count(not (answer.reply and shows(answer.reply, theirs)), rpc)
    assert service(theirs) != f"development:{mine}"
    assert not tally.failures
