"""Page tokens: the position of the last row, bound to the query and the tenant it belongs to."""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.message import Message

from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.principal import Principal

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_page_token(request: Message, principal: Principal, position: Sequence[Any]) -> str:
    content = json.dumps([_binding(request, principal), [_encode(value) for value in position]])
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def decode_page_token(request: Message, principal: Principal) -> Sequence[Any] | None:
    """The position a request continues behind; None for a first page.

    Raises:
        DomainError: INVALID_PAGE_TOKEN.
    """
    token: str = request.page_token  # type: ignore[attr-defined] # every list request has one
    if not token:
        return None
    try:
        padded = token + "=" * (-len(token) % 4)
        binding, position = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        values = [_decode(value) for value in position]
    except (binascii.Error, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise _invalid("the page token is damaged: start without one") from error
    if binding != _binding(request, principal):
        raise _invalid("the page token belongs to another query: start without one")
    return values


def _binding(request: Message, principal: Principal) -> str:
    """A digest of everything but the page: the same query of the same principal."""
    query = type(request)()
    query.CopyFrom(request)
    query.ClearField("page_token")
    query.ClearField("page_size")
    who = (
        f"{principal.project_id} {principal.principal_id} {principal.user_ids} {request.DESCRIPTOR.full_name}"
    )
    return hashlib.sha256(who.encode() + b"\0" + query.SerializeToString(deterministic=True)).hexdigest()[:32]


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return {"microseconds": (value - EPOCH) // timedelta(microseconds=1)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        return EPOCH + timedelta(microseconds=int(value["microseconds"]))
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("a number no row can have")
    if isinstance(value, str) and (b"\x00" in value.encode()):  # a lone surrogate fails to encode
        raise ValueError("a text no row can have")
    return value


def _invalid(message: str) -> DomainError:
    return DomainError(Reason.INVALID_PAGE_TOKEN, message, "page_token")
