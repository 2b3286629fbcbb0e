"""No stream outlives its token: the server offers none that needs one, and a call ends within a minute of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import psycopg
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ricordo.v1 import identity_service_pb2 as identity_pb
from ricordo.v1 import project_pb2, project_service_pb2, project_service_pb2_grpc
from ricordo_server.config import Settings
from ricordo_server.server import RunningServer, running_server
from tests.fixtures.calls import OPERATOR, as_service, refusal
from tests.fixtures.credentials import ADMIN, bearer, identity_of, new_client
from tests.fixtures.database import TestDatabase, make_project
from tests.isolation.rpc_world import RPCS
from tests.proof.conftest import Tally
from tests.proof.world import settings_of

# They say which services there are and whether they serve, to anybody: nothing of a project.
OPEN = {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
KINDS = {
    "unary_stream": grpc.unary_stream_rpc_method_handler,
    "stream_unary": grpc.stream_unary_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}
LONGEST_CALL = 5.0


@pytest.fixture
def project_id(database: TestDatabase) -> UUID:
    return make_project(database)


@pytest.fixture
async def running(database: TestDatabase, project_id: UUID, key_secret: str) -> AsyncIterator[RunningServer]:
    settings = settings_of(
        database, development_project=project_id, key_secret=key_secret, max_call_seconds=LONGEST_CALL
    )
    async with running_server(settings) as server:
        yield server


@pytest.fixture
async def channel(running: RunningServer) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as opened:
        yield opened


async def ask_reflection(channel: grpc.aio.Channel, **fields: str) -> reflection_pb2.ServerReflectionResponse:
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(**fields)
    return await anext(aiter(stub.ServerReflectionInfo(iter([request]))))


async def test_the_only_streams_that_are_offered_hold_nothing_of_a_project(
    channel: grpc.aio.Channel, tally: Tally
) -> None:
    listed = (await ask_reflection(channel, list_services="")).list_services_response.service
    for name in (service.name for service in listed):
        found = await ask_reflection(channel, file_containing_symbol=name)
        files = map(FileDescriptorProto.FromString, found.file_descriptor_response.file_descriptor_proto)
        for file in files:
            for service in file.service:
                if f"{file.package}.{service.name}" != name:
                    continue
                for method in service.method:
                    is_stream = method.client_streaming or method.server_streaming
                    tally.count(not is_stream or name in OPEN, f"{name}.{method.name}")
    assert tally.cases > len(RPCS)
    assert not tally.failures


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("who", ["nobody", "a service", "an operator"])
async def test_a_stream_that_is_added_is_refused_before_it_runs(
    running: RunningServer, channel: grpc.aio.Channel, project_id: UUID, kind: str, who: str, tally: Tally
) -> None:
    begun: list[str] = []

    async def stream(request: object, context: object) -> AsyncIterator[bytes]:
        begun.append(kind)
        yield b""

    async def single(requests: object, context: object) -> bytes:
        begun.append(kind)
        return b""

    handler: Any = KINDS[kind](single if kind == "stream_unary" else stream)
    metadata = {"nobody": (), "a service": as_service(project_id), "an operator": OPERATOR}[who]
    for number, package in enumerate(("ricordo.v1", "grpc.healthy", "other")):
        service = f"{package}.Watching{number}"
        generic = grpc.method_handlers_generic_handler(service, {"Watch": handler})
        running.grpc.add_generic_rpc_handlers((generic,))
        code = await outcome(channel, kind, f"/{service}/Watch", metadata)
        tally.count(code is grpc.StatusCode.UNKNOWN, (service, code))
    tally.count(not begun, begun)
    assert not tally.failures


async def outcome(
    channel: grpc.aio.Channel, kind: str, method: str, metadata: tuple[tuple[str, str], ...]
) -> grpc.StatusCode:
    call = getattr(channel, kind)(method)(
        b"" if kind == "unary_stream" else iter([b""]), metadata=metadata, timeout=30
    )
    try:
        await (call if kind == "stream_unary" else anext(aiter(call)))
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_an_rpc_called_as_a_stream_is_what_it_is_and_needs_its_credential(
    database: TestDatabase, tally: Tally
) -> None:
    async with (
        running_server(settings_of(database)) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        for rpc, method in RPCS.items():
            if rpc == "IdentityService.IssueToken":
                continue
            for kind in ("unary_stream", "stream_stream"):
                name = f"/{method.containing_service.full_name}/{method.name}"
                code = await outcome(channel, kind, name, ())
                tally.count(code is grpc.StatusCode.UNAUTHENTICATED, (rpc, kind, code))
    assert not tally.failures


@contextmanager
def held(database: TestDatabase, project_id: UUID) -> Iterator[None]:
    """Whoever changes the project waits in the database."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("SELECT 1 FROM ricordo.project WHERE project_id = %s FOR UPDATE", [project_id])
        yield


async def test_a_call_outlives_its_token_by_no_more_than_the_longest_call(
    channel: grpc.aio.Channel, database: TestDatabase, project_id: UUID, tally: Tally
) -> None:
    """However long its caller would wait; the longest call is a minute unless the operator says otherwise."""
    assert Settings.model_fields["max_call_seconds"].default <= 60
    account = await new_client(channel, as_service(project_id), role=ADMIN)
    projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    update = project_service_pb2.UpdateProjectRequest(
        project=project_pb2.Project(settings=project_pb2.ProjectSettings(language="german")),
        update_mask=FieldMask(paths=["settings.language"]),
    )

    request = identity_pb.IssueTokenRequest(
        client_id=account.client_id, client_secret=account.client_secret, lifetime=Duration(seconds=2)
    )

    async def call(token: str, expire_time: float) -> None:
        call = projects.UpdateProject(update, metadata=bearer(token), timeout=600)
        code = (await refusal(call))[0]
        late = time.time() - expire_time
        tally.count(code is grpc.StatusCode.DEADLINE_EXCEEDED, code)
        tally.count(0 < late < 60, late)

    issued = await identity_of(channel).IssueToken(request)
    with held(database, project_id):
        expire_time = issued.expire_time.ToDatetime(UTC).timestamp()
        await asyncio.gather(*(call(issued.access_token, expire_time) for _ in range(8)))
    assert not tally.failures
