"""Checks of request fields that several services share. Each names the field as the request has it."""

import json
import re
from collections.abc import Sequence
from uuid import UUID

from google.protobuf.message import Message

from ricordo_server.domain.errors import DomainError, Reason, invalid_field, over_limit
from ricordo_server.domain.limits import (
    DEFAULT_PAGE_SIZE,
    MAX_BATCH_ITEMS,
    MAX_CONTENT_BYTES,
    MAX_CUSTOM_TYPES,
    MAX_ITEM_BYTES,
    MAX_NAME_BYTES,
    MAX_ORDER_KEYS,
    MAX_PAGE_SIZE,
)

MEMORY_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TURN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OPERATION_ID = TURN_ID
TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
SCHEMA_ID = re.compile(r"[a-z][a-z0-9-]{0,62}")


def check_text(field: str, value: str, *, limit: int = MAX_NAME_BYTES, required: bool = False) -> str:
    """Text of at most `limit` bytes of UTF-8 that PostgreSQL can hold.

    Lone surrogates never come this far: they are no UTF-8, and the message was refused as malformed.
    """
    if required and not value.strip():
        raise invalid_field(field, f"{field} is required: give a text that is not blank")
    if "\x00" in value:
        raise invalid_field(field, f"{field} holds NUL (U+0000), which cannot be stored: remove it")
    size = len(value.encode())
    if size > limit:
        raise over_limit(field, "bytes", limit, size)
    return value


def check_texts(
    field: str, values: Sequence[str], *, most: int, limit: int = MAX_NAME_BYTES
) -> tuple[str, ...]:
    check_count(field, len(values), most)
    return tuple(
        check_text(f"{field}[{number}]", value, limit=limit, required=True)
        for number, value in enumerate(values)
    )


def check_count(field: str, count: int, most: int) -> None:
    if count > most:
        raise over_limit(field, "items", most, count)


def check_encoded_size(field: str, message: Message) -> None:
    size = message.ByteSize()
    if size > MAX_ITEM_BYTES:
        raise over_limit(field, "bytes", MAX_ITEM_BYTES, size)


def check_pattern(field: str, value: str, pattern: re.Pattern[str]) -> str:
    if not pattern.fullmatch(value):
        raise invalid_field(field, f"{field} must match ^{pattern.pattern}$")
    return value


def check_type_names(field: str, names: Sequence[str]) -> list[str]:
    """As many custom types as a project can declare."""
    check_count(field, len(names), MAX_CUSTOM_TYPES)
    return [check_pattern(f"{field}[{number}]", name, TYPE_NAME) for number, name in enumerate(names)]


def check_json(field: str, value: str) -> str:
    """JSON text or nothing, at most 256 KiB; kept as it is, so nothing of it is converted here."""
    check_text(field, value, limit=MAX_CONTENT_BYTES)
    try:
        if value:
            json.loads(value, parse_int=len, parse_float=len, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise invalid_field(field, f"{field} is no JSON text: {str(error)[:100]}") from error
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def check_uuid(field: str, value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError as error:
        raise invalid_field(field, f"{field} must be a UUID, as the server gave it") from error


def check_batch(field: str, count: int) -> None:
    if count == 0:
        raise invalid_field(field, f"{field} is empty: give 1 to {MAX_BATCH_ITEMS} items")
    check_count(field, count, MAX_BATCH_ITEMS)


def check_range(field: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise DomainError(
            Reason.INVALID_FIELD,
            f"{field} is {value}: give {least} to {most}",
            field,
            {"least": str(least), "most": str(most)},
        )
    return value


def check_page_size(given: int | None) -> int:
    return DEFAULT_PAGE_SIZE if given is None else check_range("page_size", given, 1, MAX_PAGE_SIZE)


def check_order_count(count: int) -> None:
    check_count("order_by", count, MAX_ORDER_KEYS)
