"""Requests with random bytes changed: every answer is an answer or a refusal, never a fault of the server."""

import random
from collections.abc import Awaitable

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message

from ricordo.v1 import (
    context_service_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    metadata_pb2,
    scope_pb2,
    search_pb2,
    session_service_pb2,
    store_service_pb2,
    turn_pb2,
)
from ricordo_server.server import TENANT_SERVICES
from tests.fixtures.calls import bytes_call

SCOPE = scope_pb2.Scope(user_id="ann", session_id="s1", labels={"team": "blue"})
FILTER = filter_pb2.Filter(
    comparison=filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=["metadata", "tier"]),
        comparator=filter_pb2.COMPARATOR_EQ,
        values=[metadata_pb2.MetadataValue(int64_value=3)],
    )
)
OPTIONS = search_pb2.SearchOptions(query="green tea", top_k=5, explain=True, min_similarity=0.1)
MEMORY = memory_pb2.Memory(
    kind=memory_pb2.MEMORY_KIND_EPISODIC,
    key="tea",
    content="Ann likes tea",
    scope=SCOPE,
    metadata={"tier": metadata_pb2.MetadataValue(double_value=-0.0)},
    episodic=memory_pb2.EpisodicDetails(participants=["ann"]),
    topics=[memory_pb2.Topic(custom_label="tea")],
)
TURN = turn_pb2.Turn(role="user", content="hello", data_json="{}", idempotency_key="k")
READS = scope_pb2.ScopeFilter(matching=SCOPE)
SEEDS = [
    memory_service_pb2.CreateMemoryRequest(memory=MEMORY, request_id="r"),
    memory_service_pb2.BatchCreateMemoriesRequest(memories=[MEMORY, MEMORY]),
    memory_service_pb2.PutMemoryRequest(memory=MEMORY, append=True),
    memory_service_pb2.ListMemoriesRequest(scope=READS, filter=FILTER, page_size=3),
    memory_service_pb2.SearchMemoriesRequest(options=OPTIONS, scope=READS, filter=FILTER),
    session_service_pb2.RecordTurnRequest(scope=SCOPE, turn=TURN),
    session_service_pb2.ListTurnsRequest(scope=READS, page_size=2),
    session_service_pb2.SearchTurnsRequest(options=OPTIONS, scope=READS),
    context_service_pb2.BuildContextRequest(query="tea", scope=READS, max_tokens=900),
    store_service_pb2.ListStoresRequest(page_size=2),
]
FAULTS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
MUTANTS_EACH = 60


def mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0 if place < len(changed):
                changed[place] = chance.randrange(256)
            case 1:
                changed[place:place] = chance.randbytes(chance.randint(1, 5))
            case 2:
                del changed[place : place + chance.randint(1, 5)]
            case _:
                changed[place:place] = changed[place : place + 20]
    return bytes(changed)


def method_of(request: Message) -> str:
    name = type(request).__name__.removesuffix("Request")
    [path] = [
        f"/{service.full_name}/{name}"
        for file in TENANT_SERVICES
        for service in file.DESCRIPTOR.services_by_name.values()
        if name in service.methods_by_name
    ]
    return path


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: type(seed).__name__)
async def test_no_mutant_is_a_fault(channel: grpc.aio.Channel, seed: Message) -> None:
    chance = random.Random(seed.SerializeToString())
    call = bytes_call(channel, method_of(seed))
    assert await outcome(call(seed.SerializeToString())) is grpc.StatusCode.OK
    answers = {data: await outcome(call(data)) for data in mutants(seed.SerializeToString(), chance)}
    assert not [data for data, code in answers.items() if code in FAULTS]


def mutants(data: bytes, chance: random.Random) -> list[bytes]:
    return [mutated(data, chance) for _ in range(MUTANTS_EACH)]


async def outcome(call: Awaitable[object]) -> grpc.StatusCode:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK
