"""What every call passes: malformed bytes, bounds, trace ids, credentials, deadlines, health, reflection."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast
from uuid import UUID

import grpc
import grpc.aio
import psycopg
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import memory_service_pb2_grpc
from ricordo_server.app import memories as memories_app
from ricordo_server.config import Settings
from ricordo_server.rpc.interceptors import Admission, Deadline
from ricordo_server.server import open_services, serving
from tests.fixtures.calls import bytes_call
from tests.fixtures.database import TestDatabase

CREATE = "/ricordo.v1.MemoryService/CreateMemory"
GET = "/ricordo.v1.MemoryService/GetMemory"

Detail = TypeVar("Detail", bound=Message)


def details(error: grpc.aio.AioRpcError, kind: type[Detail]) -> list[Detail]:
    status = rpc_status.from_call(error)
    found = []
    for packed in status.details if status else ():
        message = kind()
        if packed.Unpack(message):
            found.append(message)
    return found


@asynccontextmanager
async def channel_to(settings: Settings) -> AsyncIterator[grpc.aio.Channel]:
    """A server with settings of its own."""
    async with (
        open_services(settings, pool_size=2) as services,
        serving(settings, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        yield channel


async def refusal(call: Awaitable[object]) -> tuple[grpc.StatusCode, str, grpc.aio.AioRpcError]:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    [info] = details(refused.value, ErrorInfo)
    assert info.domain == "ricordo"
    assert info.metadata["trace_id"]
    return refused.value.code(), info.reason, refused.value


async def test_bytes_that_are_no_message_are_refused_with_a_reason(channel: grpc.aio.Channel) -> None:
    method = bytes_call(channel, CREATE)
    for data in (b"\xff\xff\xff\xff", b"\x0a\x02\xff\xfe"):  # no protobuf; a store_id that is no UTF-8
        code, reason, _ = await refusal(method(data))
        assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")


async def test_a_request_over_eight_mebibytes_is_refused_before_it_is_read(channel: grpc.aio.Channel) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await bytes_call(channel, CREATE)(b"\x0a" + b"\0" * (8 * 1024 * 1024 + 1))
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_an_error_names_the_field_and_the_caller_s_trace_id(channel: grpc.aio.Channel) -> None:
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    request = pb.CreateMemoryRequest(memory=m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="a\0b"))
    code, reason, error = await refusal(memories.CreateMemory(request, metadata=(("x-trace-id", "abc123"),)))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert details(error, ErrorInfo)[0].metadata["trace_id"] == "abc123"
    assert [violation.field for violation in details(error, BadRequest)[0].field_violations] == [
        "memory.content"
    ]
    assert "NUL" in error.details()


async def test_a_stream_is_refused_since_nothing_guards_it(settings: Settings) -> None:
    """The contract has none; whoever adds one must guard it first."""

    async def stream(request: bytes, context: object) -> AsyncIterator[bytes]:
        yield request

    async with (
        open_services(settings, pool_size=2) as services,
        serving(settings, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        handlers: dict[str, Any] = {"Watch": grpc.unary_stream_rpc_method_handler(stream)}
        generic = grpc.method_handlers_generic_handler("ricordo.v1.Watching", handlers)
        running.grpc.add_generic_rpc_handlers((generic,))
        method: Any = channel.unary_stream("/ricordo.v1.Watching/Watch")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await anext(aiter(method(b"canary")))
    assert refused.value.code() is grpc.StatusCode.UNKNOWN


@pytest.mark.parametrize(
    "header", ["Bearer nonsense", "Basic abc", "Bearer development:not-a-uuid", "Bearer development"]
)
async def test_an_unknown_credential_is_refused(channel: grpc.aio.Channel, header: str) -> None:
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    call = memories.GetMemory(pb.GetMemoryRequest(memory_id="a"), metadata=(("authorization", header),))
    code, reason, _ = await refusal(call)
    assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")


async def test_a_server_at_its_bound_refuses_at_once_and_says_when_to_come_back(settings: Settings) -> None:
    bounded = settings.model_copy(update={"max_concurrent_calls": 1})
    async with channel_to(bounded) as channel:
        memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
        calls = [memories.ListMemories(pb.ListMemoriesRequest()) for _ in range(20)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert refused
    assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert details(refused[0], RetryInfo)
    assert len(refused) < len(outcomes)


async def test_a_bound_is_given_back_after_a_failed_call() -> None:
    admission = Admission(1)

    class Details:
        method = "/x/Y"

    async def failing(request: object, context: object) -> object:
        raise ValueError

    handler = admission.around(failing, cast(grpc.HandlerCallDetails, Details()))
    for _ in range(3):
        with pytest.raises(ValueError):
            await handler(object(), None)


async def test_a_deadline_reaches_the_database(
    channel: grpc.aio.Channel, database: TestDatabase, project_id: UUID
) -> None:
    """A lock held by another session keeps the write waiting; the caller's deadline ends the query as well."""
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="x", key="k")
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))).memory
    with psycopg.connect(database.superuser_url) as blocker:
        blocker.execute("SELECT FROM ricordo.memory WHERE memory_id = %s FOR UPDATE", [created.memory_id])
        with pytest.raises(grpc.aio.AioRpcError) as late:
            await memories.PutMemory(pb.PutMemoryRequest(memory=memory), timeout=0.5)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await until_no_query_waits(database)
    assert (await memories.GetMemory(pb.GetMemoryRequest(memory_id=created.memory_id))).memory == created


async def test_work_is_cancelled_once_however_often_its_call_is() -> None:
    """As by the deadline and by gRPC: what is under way to clean up is not cut short."""
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(request: object, context: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
            ended.set()

    class Context:
        def time_remaining(self) -> None:
            return None

    work: Any = Deadline(60).around(handler, cast(grpc.HandlerCallDetails, None))(None, Context())
    call = asyncio.create_task(work)
    await begun.wait()
    for _ in range(3):
        call.cancel()
        await asyncio.sleep(0)
    may_end.set()
    await asyncio.wait_for(ended.wait(), 30)
    with pytest.raises(asyncio.CancelledError):
        await call


async def until_no_query_waits(database: TestDatabase) -> None:
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = %s AND usename = 'ricordo_app' AND state = 'active'"
    )
    async with await psycopg.AsyncConnection.connect(database.superuser_url) as connection:
        for _ in range(200):
            row = await (await connection.execute(query, [database.name])).fetchone()
            await connection.rollback()
            if row == (0,):
                return
            await asyncio.sleep(0.02)
    pytest.fail("the query of the cancelled call still runs")


async def test_health_and_reflection_answer_without_a_credential(channel: grpc.aio.Channel) -> None:
    health = health_pb2_grpc.HealthStub(channel)
    for service in ("", "ricordo.v1.MemoryService"):
        answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    async for answer in reflection.ServerReflectionInfo(iter([request])):
        names = {service.name for service in answer.list_services_response.service}
    assert {"ricordo.v1.MemoryService", "grpc.health.v1.Health"} <= names


async def test_the_access_log_has_a_line_a_call_and_no_content(
    channel: grpc.aio.Channel, caplog: pytest.LogCaptureFixture
) -> None:
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    with caplog.at_level(logging.INFO, logger="ricordo.access"):
        memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="canary-content", key="canary-key")
        await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))
    [line] = [vars(record) for record in caplog.records if record.name == "ricordo.access"]
    assert (line["method"], line["code"]) == (CREATE, "OK")
    assert "canary" not in str(line)


async def test_a_fault_of_the_server_is_internal_and_tells_nothing(
    settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*arguments: object, **options: object) -> object:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(memories_app, "get_memory", broken)
    async with channel_to(settings) as channel:
        memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
        code, reason, error = await refusal(memories.GetMemory(pb.GetMemoryRequest(memory_id="a")))
    assert (code, reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert "secret" not in error.details()
