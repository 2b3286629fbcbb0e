"""Enums of the contract to those of the domain, by name."""

from enum import StrEnum
from typing import Any, TypeVar

from google.protobuf.descriptor import EnumDescriptor

from ricordo_server.domain.errors import invalid_field

Value = TypeVar("Value", bound=StrEnum)


def decode_enum(number: int, wire: EnumDescriptor, type_: type[Value], field: str) -> Value | None:
    """The domain's value of the same name; None for `_UNSPECIFIED`.

    Raises:
        DomainError: INVALID_FIELD for a number this server does not know.
    """
    if number == 0:
        return None
    known = wire.values_by_number.get(number)
    if known is None:
        raise invalid_field(field, f"{field} has the unknown value {number}; accepted: {', '.join(type_)}")
    return type_(known.name.removeprefix(_prefix(wire)))


def encode_enum(value: StrEnum, wire: EnumDescriptor) -> Any:
    return wire.values_by_name[_prefix(wire) + value].number


def _prefix(wire: EnumDescriptor) -> str:
    """Every enum starts with `<PREFIX>UNSPECIFIED`; buf holds it to that."""
    return wire.values_by_number[0].name.removesuffix("UNSPECIFIED")
