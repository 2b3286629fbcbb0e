"""Timestamps and durations."""

from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from ricordo_server.domain.errors import invalid_field


def decode_time(message: Timestamp, field: str) -> datetime:
    """Kept to the microsecond; finer digits are cut."""
    try:
        return message.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise invalid_field(field, f"{field} is no time between the years 1 and 9999") from error


def encode_time(value: datetime | None) -> Timestamp | None:
    if value is None:
        return None
    message = Timestamp()
    message.FromDatetime(value)
    return message


def decode_duration(message: Duration, field: str) -> timedelta:
    try:
        return message.ToTimedelta()
    except (ValueError, OverflowError) as error:
        raise invalid_field(field, f"{field} is no duration of at most 10,000 years") from error


def encode_duration(value: timedelta | None) -> Duration | None:
    if value is None:
        return None
    message = Duration()
    message.FromTimedelta(value)
    return message
