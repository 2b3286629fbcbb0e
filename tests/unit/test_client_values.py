import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo._convert.values import decode_metadata, decode_time, encode_metadata, encode_time
from ricordo.errors import MemoryClientError
from ricordo.v1.metadata_pb2 import MetadataMap

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones)
scalars = (
    st.none()
    | text
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | times
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)


def typed(value: Any) -> Any:
    """The value with its types and the sign of zero, so that 1, 1.0 and True differ."""
    match value:
        case list():
            return [typed(item) for item in value]
        case dict():
            return {key: typed(item) for key, item in value.items()}
        case float():
            return (float, value, math.copysign(1, value))
        case datetime():
            return (datetime, value.astimezone(UTC))
    return (type(value), value)


@given(st.dictionaries(text, values, max_size=4))
def test_metadata_round_trips_exactly_over_the_wire(metadata: dict[str, Any]) -> None:
    sent = MetadataMap(fields=encode_metadata(metadata)).SerializeToString()
    assert typed(decode_metadata(MetadataMap.FromString(sent).fields)) == typed(metadata)


@pytest.mark.parametrize("value", [3, 3.0, -0.0, 1e16, True, 2**63 - 1, -(2**63), "2"])
def test_the_hard_values_keep_their_type(value: object) -> None:
    assert typed(decode_metadata(encode_metadata({"x": value}))["x"]) == typed(value)


@given(times)
def test_times_keep_the_microsecond(time: datetime) -> None:
    sent = encode_time(time, "x")
    assert sent is not None
    assert decode_time(sent) == time
    assert decode_time(sent).tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (datetime(2026, 1, 1), "no time zone"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "outside the years"),
        (2**63, "beyond 64 bits"),
        (-(2**63) - 1, "beyond 64 bits"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        (b"bytes", "is bytes"),
        (Decimal(1), "is Decimal"),
        (date(2026, 1, 1), "is date"),
        ({1, 2}, "is set"),
    ],
)
def test_what_cannot_be_kept_exactly_is_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(MemoryClientError, match=message) as caught:
        encode_metadata({"outer": [{"inner": value}]})
    assert "metadata.outer[0].inner" in str(caught.value)


def test_keys_are_text() -> None:
    with pytest.raises(MemoryClientError, match="keys are text"):
        encode_metadata({1: "x"})  # type: ignore[dict-item]
