"""Metadata values and times, exactly: an int stays an int, 1e16 a float, times keep the microsecond."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from ricordo.errors import MemoryClientError
from ricordo.v1.metadata_pb2 import NULL_VALUE_UNSPECIFIED, MetadataList, MetadataMap, MetadataValue

INT64 = range(-(2**63), 2**63)
KINDS = "None, str, int, float, bool, datetime, list, dict"


def encode_metadata(metadata: Mapping[str, Any], name: str = "metadata") -> dict[str, MetadataValue]:
    """Encodes a map of values.

    Args:
        metadata: The map.
        name: Its own name, for error messages.

    Raises:
        MemoryClientError: It is no map, or a value cannot be kept exactly; the message names it.
    """
    if not isinstance(metadata, Mapping):
        raise MemoryClientError(f"{name} is a map of values by their keys, not {metadata!r:.60}")
    return {_key(key, name): encode_value(value, f"{name}.{key}") for key, value in metadata.items()}


def decode_metadata(fields: Mapping[str, MetadataValue]) -> dict[str, Any]:
    """Decodes a map of values."""
    return {key: decode_value(value) for key, value in fields.items()}


def encode_value(value: object, name: str) -> MetadataValue:
    """Encodes one value; `name` is its path, for error messages.

    Raises:
        MemoryClientError: The value cannot be kept exactly.
    """
    match value:
        case None:
            return MetadataValue(null_value=NULL_VALUE_UNSPECIFIED)
        case bool():  # before int: True is one
            return MetadataValue(bool_value=value)
        case int():
            return MetadataValue(int64_value=_int64(value, name))
        case float():
            return MetadataValue(double_value=_finite(value, name))
        case str():
            return MetadataValue(string_value=_text(value, name))
        case datetime():
            return MetadataValue(timestamp_value=encode_time(value, name))
        case Mapping():
            return MetadataValue(map_value=MetadataMap(fields=encode_metadata(value, name)))
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            values = [encode_value(item, f"{name}[{index}]") for index, item in enumerate(value)]
            return MetadataValue(list_value=MetadataList(values=values))
    raise MemoryClientError(f"{name} is {type(value).__name__}: metadata holds {KINDS}")


def decode_value(value: MetadataValue) -> Any:
    """Decodes one value; one of a kind this client does not know is None."""
    match value.WhichOneof("kind"):
        case "timestamp_value":
            return decode_time(value.timestamp_value)
        case "list_value":
            return [decode_value(item) for item in value.list_value.values]
        case "map_value":
            return decode_metadata(value.map_value.fields)
        case None | "null_value":
            return None
        case kind:
            return getattr(value, kind)


def encode_time(time: datetime | None, name: str) -> Timestamp | None:
    """Encodes a time with a zone.

    Raises:
        MemoryClientError: The time has no zone, or lies outside the years 1 to 9999 in UTC.
    """
    if time is None:
        return None
    if time.tzinfo is None or time.utcoffset() is None:
        raise MemoryClientError(
            f"{name} has no time zone: write datetime(..., tzinfo=UTC) or time.astimezone()"
        )
    try:
        elapsed = time.astimezone(UTC) - EPOCH
    except OverflowError:
        raise MemoryClientError(f"{name} is outside the years 1 to 9999 in UTC") from None
    seconds, rest = divmod(elapsed, timedelta(seconds=1))
    return Timestamp(seconds=seconds, nanos=rest.microseconds * 1000)


def decode_time(time: Timestamp) -> datetime:
    """Decodes a time: UTC, to the microsecond."""
    return EPOCH + timedelta(seconds=time.seconds, microseconds=time.nanos // 1000)


def decode_optional_time(time: Timestamp, present: bool) -> datetime | None:
    """Decodes a time that may not be given."""
    return decode_time(time) if present else None


def encode_duration(duration: timedelta | None) -> Duration | None:
    """Encodes a duration."""
    if duration is None:
        return None
    seconds, rest = divmod(duration, timedelta(seconds=1))
    return Duration(seconds=seconds, nanos=rest.microseconds * 1000)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise MemoryClientError(f"{name} has the key {key!r}: keys are text")
    return _text(key, f"a key of {name}")


def _int64(value: int, name: str) -> int:
    if value not in INT64:
        raise MemoryClientError(f"{name} is beyond 64 bits: keep it as text")
    return int(value)


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise MemoryClientError(f"{name} is {value}: only finite numbers can be compared; use None or text")
    return value


def _text(value: str, name: str) -> str:
    if "\0" in value:
        raise MemoryClientError(f"{name} holds a NUL character: remove it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise MemoryClientError(f"{name} holds half of a surrogate pair: it is not valid text") from None
    return value
