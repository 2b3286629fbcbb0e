import pytest
from google.protobuf.message import Message

from ricordo.v1 import memory_pb2, turn_pb2
from ricordo.v1 import memory_service_pb2 as memory
from ricordo.v1 import session_service_pb2 as session
from ricordo_server.rpc.interceptors import count_items


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (session.BatchRecordTurnsRequest(turns=[turn_pb2.Turn(content=text) for text in "ab"]), 2),
        (memory.BatchCreateMemoriesRequest(memories=[memory_pb2.Memory(content="a")]), 1),
        (memory.ListMemoriesRequest(page_size=500), 500),
        (memory.ListMemoriesRequest(), 0),
        (memory.GetMemoryRequest(memory_id="m", store_id="s"), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_request_is_about_as_many_items_as_it_brings_or_asks_for(request_: Message, expected: int) -> None:
    assert count_items(request_) == expected
