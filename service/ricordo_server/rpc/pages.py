"""Lists and hits within the size of an answer."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from google.protobuf.message import Message

from ricordo_server.domain.limits import MAX_ANSWER_BYTES
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.principal import Principal
from ricordo_server.domain.shared_loop import in_slices
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


async def encode_page(
    request: Message, principal: Principal, page: Page[Item], encode: Callable[[Item], Encoded]
) -> tuple[list[Encoded], str]:
    """As many messages as fit 3 MiB, at least one, and the token of the next page."""
    messages: list[Encoded] = []
    size = 0
    async for item in in_slices(page.items):
        message = encode(item)
        size += message.ByteSize()
        if messages and size > MAX_ANSWER_BYTES:
            break
        messages.append(message)
    if not page.has_more and len(messages) == len(page.items):
        return messages, ""
    return messages, encode_page_token(request, principal, page.positions[len(messages) - 1])


# What stays of a memory or a turn past the bound: which one it is, and what is small whatever the caller writes.
KEPT_FIELDS = frozenset(
    {
        *("memory_id", "store_id", "kind", "custom_type", "key", "visibility", "source", "revision"),
        *("turn_id", "turn_seq", "role", "is_error", "has_embedding", "embedding_model"),
        *("create_time", "update_time", "event_time", "event_end_time", "expire_time", "delete_time"),
    }
)


def omit_excess(answer: Message, holders: Iterable[Any]) -> None:
    """Brings an answer down to 3 MiB: never fewer hits or results, but ones without their content.

    `holders` are the messages inside the answer that hold a memory or a turn. What every one of them needs at least
    is set aside first, so that the last ones fit too.
    """
    size = answer.ByteSize()
    if size <= MAX_ANSWER_BYTES:
        return
    pairs = [(holder, _emptied(holder)) for holder in holders]
    size -= sum(holder.ByteSize() - emptied.ByteSize() for holder, emptied in pairs)
    for holder, emptied in pairs:
        content = holder.ByteSize() - emptied.ByteSize()
        if size + content <= MAX_ANSWER_BYTES:
            size += content
        else:
            holder.CopyFrom(emptied)


def _emptied(holder: Any) -> Any:
    """A copy with the least of its item; without the vector and the legs, which only hits have."""
    copy = type(holder)()
    copy.CopyFrom(holder)
    for name in ("embedding", "legs"):
        if name in copy.DESCRIPTOR.fields_by_name:
            copy.ClearField(name)
    for name in ("memory", "turn"):
        if name in copy.DESCRIPTOR.fields_by_name and copy.HasField(name):
            _empty(getattr(copy, name))
    return copy


def _empty(item: Any) -> None:
    for field, _ in item.ListFields():
        if field.name not in KEPT_FIELDS:
            item.ClearField(field.name)
    item.content_omitted = True
