"""What is tried of a call, and what several of them send."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from ricordo import AsyncClient, models
from ricordo._async.pager import AsyncPager
from ricordo.v1.erasure_pb2 import ErasedRows, ErasureReceipt

SESSION = models.Scope(user_id="ada", session_id="s1")

RECEIPT = ErasureReceipt(
    tables=[ErasedRows(table_name="memory", row_count=3), ErasedRows(table_name="turn", row_count=2)],
    done=True,
)


@dataclass(frozen=True)
class Case:
    """How a method is called, what the server answers, what comes back and what was sent."""

    invoke: Callable[[AsyncClient], Awaitable[Any]]
    reply: Message
    answer: Callable[[Any], bool]
    sent: dict[str, object]


async def first(pager: AsyncPager[object]) -> object:
    return await anext(aiter(pager))
