"""Lists and hits within the size of an answer."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message

from ricordo_server.domain.limits import MAX_ANSWER_BYTES
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.principal import Principal
from ricordo_server.rpc.checks import check_order_count, check_page_size
from ricordo_server.rpc.page_token import decode_page_token, encode_page_token

Item = TypeVar("Item")
Encoded = TypeVar("Encoded", bound=Message)


def decode_page(request: Any, principal: Principal) -> PageRequest:
    given = request.page_size if request.HasField("page_size") else None
    return PageRequest(check_page_size(given), decode_page_token(request, principal))


def decode_order(request: Any) -> list[OrderBy]:
    check_order_count(len(request.order_by))
    return [OrderBy(key.field, key.descending) for key in request.order_by]


def encode_page(
    request: Message, principal: Principal, page: Page[Item], encode: Callable[[Item], Encoded]
) -> tuple[list[Encoded], str]:
    """As many messages as fit 3 MiB, at least one, and the token of the next page."""
    messages: list[Encoded] = []
    size = 0
    for item in page.items:
        message = encode(item)
        size += message.ByteSize()
        if messages and size > MAX_ANSWER_BYTES:
            break
        messages.append(message)
    if not page.has_more and len(messages) == len(page.items):
        return messages, ""
    return messages, encode_page_token(request, principal, page.positions[len(messages) - 1])


# What makes a memory or a turn large.
CONTENT_FIELDS = ("content", "description", "metadata", "procedural", "custom", "tool_calls", "data_json")


def omit_excess(messages: Sequence[Any], *, used: int = 0) -> None:
    """Empties the content of what goes past 3 MiB: never fewer hits, but hits without content.

    `used` is what else of the answer counts, in bytes.
    """
    size = used
    for message in messages:
        if size + message.ByteSize() > MAX_ANSWER_BYTES:
            for name in CONTENT_FIELDS:
                if name in message.DESCRIPTOR.fields_by_name:
                    message.ClearField(name)
            message.content_omitted = True
        size += message.ByteSize()
