"""Typed values between the contract and the domain: an exact round trip, except that times lose their nanoseconds."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from ricordo.v1 import metadata_pb2 as pb
from ricordo_server.domain import limits
from ricordo_server.domain.errors import invalid_field, over_limit
from ricordo_server.domain.metadata import Metadata, MetadataValue, encode_metadata
from ricordo_server.rpc.convert.times import decode_time, encode_time

SHOWN_KEY_CHARACTERS = 64


def decode_metadata_map(message: Mapping[str, pb.MetadataValue], field: str) -> Metadata:
    """`field` is the path of the map in its request.

    Raises:
        DomainError: INVALID_FIELD or LIMIT_EXCEEDED, naming the value at fault: `memory.metadata["a"][0]`.
    """
    if len(message) > limits.MAX_METADATA_KEYS:
        raise over_limit(field, "keys", limits.MAX_METADATA_KEYS, len(message))
    metadata = _decode_members(message, field, depth=1)
    size = len(json.dumps(encode_metadata(metadata), ensure_ascii=False).encode())
    if size > limits.MAX_METADATA_BYTES:
        raise over_limit(field, "bytes", limits.MAX_METADATA_BYTES, size)
    return metadata


def decode_value(message: pb.MetadataValue, field: str, *, depth: int = 1) -> MetadataValue:
    """A value of a metadata map has depth 1, an element of a list in it depth 2."""
    if depth > limits.MAX_METADATA_DEPTH:
        raise over_limit(field, "levels", limits.MAX_METADATA_DEPTH, depth)
    match message.WhichOneof("kind"):
        case "null_value":
            return None
        case "string_value":
            return _checked_text(message.string_value, field)
        case "int64_value":
            return message.int64_value
        case "double_value":
            return _checked_double(message.double_value, field)
        case "bool_value":
            return message.bool_value
        case "timestamp_value":
            return decode_time(message.timestamp_value, field)
        case "list_value":
            values = enumerate(message.list_value.values)
            return [decode_value(value, f"{field}[{index}]", depth=depth + 1) for index, value in values]
        case "map_value":
            return _decode_members(message.map_value.fields, field, depth=depth + 1)
        case _:
            raise invalid_field(field, f"{field} has no value: set one, null_value for null")


def encode_metadata_map(metadata: Metadata) -> dict[str, pb.MetadataValue]:
    return {key: encode_value(value) for key, value in metadata.items()}


def encode_value(value: MetadataValue) -> pb.MetadataValue:
    match value:
        case None:
            return pb.MetadataValue(null_value=pb.NULL_VALUE_UNSPECIFIED)
        case str():
            return pb.MetadataValue(string_value=value)
        case bool():  # a bool is an int to Python
            return pb.MetadataValue(bool_value=value)
        case int():
            return pb.MetadataValue(int64_value=value)
        case float():
            return pb.MetadataValue(double_value=value)
        case datetime():
            return pb.MetadataValue(timestamp_value=encode_time(value))
        case Mapping():
            return pb.MetadataValue(map_value=pb.MetadataMap(fields=encode_metadata_map(value)))
        case _:
            return pb.MetadataValue(list_value=_encode_list(value))


def _encode_list(values: Sequence[MetadataValue]) -> pb.MetadataList:
    return pb.MetadataList(values=[encode_value(value) for value in values])


def _decode_members(
    message: Mapping[str, pb.MetadataValue], field: str, *, depth: int
) -> dict[str, MetadataValue]:
    members = {}
    for key, value in message.items():
        path = f"{field}[{json.dumps(key[:SHOWN_KEY_CHARACTERS], ensure_ascii=False)}]"
        members[_checked_text(key, path)] = decode_value(value, path, depth=depth)
    return members


def _checked_text(text: str, field: str) -> str:
    if "\0" in text:
        raise invalid_field(field, f"{field} holds NUL (U+0000), which cannot be stored: remove it")
    return text


def _checked_double(number: float, field: str) -> float:
    if not math.isfinite(number):
        raise invalid_field(field, f"{field} is {number}, which is no number: send a finite one, or null")
    return number
