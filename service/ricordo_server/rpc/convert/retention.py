"""How long memories and their revisions are kept."""

from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from ricordo.v1 import retention_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import MAX_TTL_DAYS
from ricordo_server.domain.retention import Retention
from ricordo_server.rpc.convert.times import decode_duration, encode_duration

TTLS = [name for name in retention_pb2.Retention.DESCRIPTOR.fields_by_name if name.endswith("_ttl")]


def decode_retention(message: retention_pb2.Retention, field: str) -> Retention:
    given = {
        name: decode_ttl(getattr(message, name), f"{field}.{name}")
        for name in TTLS
        if message.HasField(name)  # type: ignore[arg-type]
    }
    disabled = message.disable_revisions if message.HasField("disable_revisions") else None
    return Retention(**given, disable_revisions=disabled)


def decode_ttl(message: Duration, field: str) -> timedelta:
    """Zero is no end."""
    ttl = decode_duration(message, field)
    if not timedelta(0) <= ttl <= timedelta(days=MAX_TTL_DAYS):
        raise invalid_field(field, f"{field} is up to {MAX_TTL_DAYS} days; zero for no end")
    return ttl


def encode_retention(retention: Retention) -> retention_pb2.Retention | None:
    """Nothing where nothing is said."""
    if retention == Retention():
        return None
    ttls = {name: encode_duration(getattr(retention, name)) for name in TTLS}
    return retention_pb2.Retention(**ttls, disable_revisions=retention.disable_revisions)
