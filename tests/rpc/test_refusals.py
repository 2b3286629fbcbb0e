"""Refusals stay readable whatever the request holds."""

import base64
import json

import grpc
import grpc.aio
import pytest

from ricordo.v1 import (
    memory_service_pb2,
    memory_service_pb2_grpc,
    scope_pb2,
    session_service_pb2_grpc,
    turn_pb2,
)
from ricordo.v1 import session_service_pb2 as pb
from ricordo.v1.paging_pb2 import OrderBy
from tests.fixtures.calls import refusal

INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("size", [1_000, 10_000, 1_000_000])
async def test_a_long_text_of_the_caller_s_does_not_break_the_answer(
    channel: grpc.aio.Channel, size: int
) -> None:
    """Over 8 KiB of headers a client refuses the answer, over 16 it drops the connection with all its calls."""
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    request = memory_service_pb2.ListMemoriesRequest(order_by=[OrderBy(field="é" * size)])
    assert await refusal(memories.ListMemories(request)) == (INVALID, "INVALID_FIELD", "order_by[0].field")


@pytest.mark.parametrize("position", [2**70, "1", None, {"microseconds": 1}])
async def test_a_page_token_of_another_shape_is_refused(channel: grpc.aio.Channel, position: object) -> None:
    sessions = session_service_pb2_grpc.SessionServiceStub(channel)
    turns = [turn_pb2.Turn(role="user", content="x")] * 2
    scope = scope_pb2.Scope(user_id="ann", session_id="s1")
    await sessions.BatchRecordTurns(pb.BatchRecordTurnsRequest(scope=scope, turns=turns))
    request = pb.ListTurnsRequest(order_by=[OrderBy(field="turn_seq")], page_size=1)
    token = (await sessions.ListTurns(request)).next_page_token
    content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    content[1][0] = position
    request.page_token = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    assert await refusal(sessions.ListTurns(request)) == (INVALID, "INVALID_PAGE_TOKEN", "page_token")
