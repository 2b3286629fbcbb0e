"""Typed pairs. jsonb would turn 1e16 into an integer and -0.0 into 0.0 and knows no time, so values are tagged.

Stored form: null, text, booleans, integers and lists as JSON has them; `{"$double": "1e+16"}`,
`{"$time": "2026-01-31T12:00:00.000000Z"}`, `{"$map": {...}}`. Every stored object is one of these, so no key of the
caller's can be taken for a tag.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

MetadataValue: TypeAlias = (
    "str | int | float | bool | datetime | Sequence[MetadataValue] | Mapping[str, MetadataValue] | None"
)
Metadata: TypeAlias = Mapping[str, MetadataValue]

DOUBLE, TIME, MAP = "$double", "$time", "$map"


def encode_metadata(metadata: Metadata) -> dict[str, Any]:
    return {key: encode_value(value) for key, value in metadata.items()}


def decode_metadata(stored: Mapping[str, Any]) -> Metadata:
    return {key: decode_value(value) for key, value in stored.items()}


def encode_value(value: MetadataValue) -> Any:
    if isinstance(value, float):
        return {DOUBLE: repr(value)}
    if isinstance(value, datetime):
        return {TIME: encode_time(value)}
    if isinstance(value, Mapping):
        return {MAP: encode_metadata(value)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [encode_value(item) for item in value]
    return value


def decode_value(stored: Any) -> MetadataValue:
    if isinstance(stored, list):
        return [decode_value(item) for item in stored]
    if not isinstance(stored, dict):
        return stored  # type: ignore[no-any-return]
    [(tag, inner)] = stored.items()
    if tag == DOUBLE:
        return float(inner)
    if tag == TIME:
        return datetime.fromisoformat(inner)
    return decode_metadata(inner)


def encode_time(value: datetime) -> str:
    """UTC with a fixed number of digits, so that the text sorts as the time does."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
