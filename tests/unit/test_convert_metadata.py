"""Metadata keeps value and type on the way in and out; what cannot be kept is refused by name."""

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo.v1.metadata_pb2 import MetadataList, MetadataMap, MetadataValue
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.metadata import decode_metadata, encode_metadata
from ricordo_server.rpc.convert.metadata import (
    decode_metadata_map,
    decode_value,
    encode_metadata_map,
    encode_value,
)

FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    texts,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.datetimes().map(lambda time: time.replace(tzinfo=UTC, fold=0)),
)
# A recursive strategy is no deeper than its number of leaves.
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=6,
)


def exact(value: Any) -> str:
    """Tells 1 from 1.0 and from True, and 0.0 from -0.0, which `==` does not."""
    if isinstance(value, dict):
        return repr(sorted((key, exact(inner)) for key, inner in value.items()))
    return repr([exact(inner) for inner in value]) if isinstance(value, list) else repr(value)


def over_the_wire(metadata: dict[str, Any]) -> Any:
    sent = MetadataMap(fields=encode_metadata_map(metadata)).SerializeToString()
    return decode_metadata_map(MetadataMap.FromString(sent).fields, "metadata")


def through_the_database(metadata: Any) -> Any:
    return decode_metadata(json.loads(json.dumps(encode_metadata(metadata))))


@given(value=values)
@example(value=-0.0)
@example(value=1e16)
@example(value=5e-324)
@example(value=2**63 - 1)
@example(value=-(2**63))
@example(value=[True, 1, 1.0, "1", None])
@example(value={"": "", "$double": "1", "$map": {"$time": {}}, "a.b": [], "é\n": {}})
@example(value=FIRST)
@example(value=LAST)
def test_a_value_comes_back_exactly(value: Any) -> None:
    came_back = over_the_wire({"key": value})

    assert exact(came_back) == exact({"key": value})
    assert exact(through_the_database(came_back)) == exact({"key": value})


@given(key=texts)
def test_any_text_is_a_key(key: str) -> None:
    assert over_the_wire({key: 1}) == {key: 1}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (MetadataValue(), 'memory.metadata["a"]'),
        (MetadataValue(double_value=math.nan), 'memory.metadata["a"]'),
        (MetadataValue(double_value=-math.inf), 'memory.metadata["a"]'),
        (MetadataValue(string_value="\0"), 'memory.metadata["a"]'),
        (MetadataValue(timestamp_value=Timestamp(seconds=253_402_300_800)), 'memory.metadata["a"]'),
        (MetadataValue(timestamp_value=Timestamp(seconds=-62_135_596_801)), 'memory.metadata["a"]'),
        (MetadataValue(timestamp_value=Timestamp(nanos=-1)), 'memory.metadata["a"]'),
        (MetadataValue(timestamp_value=Timestamp(nanos=10**9)), 'memory.metadata["a"]'),
        (
            MetadataValue(list_value=MetadataList(values=[encode_value(1), MetadataValue()])),
            'memory.metadata["a"][1]',
        ),
        (
            MetadataValue(map_value=MetadataMap(fields={'"\n': MetadataValue()})),
            r'memory.metadata["a"]["\"\n"]',
        ),
        (
            MetadataValue(map_value=MetadataMap(fields={"\0": encode_value(1)})),
            r'memory.metadata["a"]["\u0000"]',
        ),
        (
            MetadataValue(map_value=MetadataMap(fields={"k" * 9000: MetadataValue()})),
            f'memory.metadata["a"]["{"k" * 64}"]',
        ),
    ],
    ids=[
        *("unset", "NaN", "infinity", "NUL", "year 10000", "year 0", "negative nanos", "too many nanos"),
        *("in a list", "in a map", "NUL in a key", "long key"),
    ],
)
def test_what_cannot_be_kept_is_refused_where_it_stands(value: MetadataValue, field: str) -> None:
    with pytest.raises(DomainError) as refusal:
        decode_metadata_map({"a": value}, "memory.metadata")

    assert (refusal.value.reason, refusal.value.field) == (Reason.INVALID_FIELD, field)


def test_digits_below_the_microsecond_are_cut() -> None:
    value = MetadataValue(timestamp_value=Timestamp(seconds=-1, nanos=999_999_999))

    assert decode_value(value, "v") == datetime(1970, 1, 1, tzinfo=UTC) - timedelta(microseconds=1)


def nested(levels: int) -> Any:
    """A value whose innermost has this depth."""
    value: Any = 1
    for level in range(levels - 1):
        value = [value] if level % 2 else {"k": value}
    return value


def test_eight_levels_are_kept_and_nine_refused() -> None:
    assert over_the_wire({"a": nested(8)}) == {"a": nested(8)}
    with pytest.raises(DomainError) as refusal:
        over_the_wire({"a": nested(9)})
    assert refusal.value.reason is Reason.LIMIT_EXCEEDED
    assert refusal.value.metadata == {"limit": "8", "actual": "9"}


def test_sixty_four_keys_are_kept_and_more_refused() -> None:
    assert len(over_the_wire({str(number): number for number in range(64)})) == 64
    with pytest.raises(DomainError) as refusal:
        over_the_wire({str(number): number for number in range(65)})
    assert refusal.value.metadata == {"limit": "64", "actual": "65"}


def test_the_stored_bytes_are_limited() -> None:
    most = 64 * 1024 - len('{"a": ""}')
    assert over_the_wire({"a": "é" * (most // 2)})
    with pytest.raises(DomainError) as refusal:
        over_the_wire({"a": "x" * (most + 1)})
    assert refusal.value.field == "metadata"
    assert refusal.value.metadata == {"limit": "65536", "actual": "65537"}
