"""What lists and mutations share: pages, order, request ids, masks."""

from copy import deepcopy
from typing import Protocol, TypeVar
from uuid import uuid4

from ricordo.errors import MemoryClientError
from ricordo.v1 import paging_pb2


class Paged(Protocol):
    """A request for one page of a list."""

    page_token: str


PagedRequest = TypeVar("PagedRequest", bound=Paged)


def at_page(request: PagedRequest, page_token: str) -> PagedRequest:
    """The same request for another page."""
    request = deepcopy(request)
    request.page_token = page_token
    return request


def fresh(request_id: str | None) -> str:
    """The given request id, else a new one: so a retry never writes twice."""
    return request_id or str(uuid4())


def encode_order(order_by: str) -> list[paging_pb2.OrderBy]:
    """Reads "create_time desc, key".

    Raises:
        MemoryClientError: A part is not a field with an optional "asc" or "desc".
    """
    return [_encode_order_key(part.split()) for part in order_by.split(",")] if order_by else []


def _encode_order_key(words: list[str]) -> paging_pb2.OrderBy:
    match words:
        case [field] | [field, "asc"]:
            return paging_pb2.OrderBy(field=field)
        case [field, "desc"]:
            return paging_pb2.OrderBy(field=field, descending=True)
    raise MemoryClientError(f"{' '.join(words)!r} is no order: write 'create_time desc, key'")
