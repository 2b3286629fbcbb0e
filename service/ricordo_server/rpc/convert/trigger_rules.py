"""Sessions' own rules for when their turns are made memories of."""

from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from ricordo.v1 import session_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.promotion import PromotionTriggers
from ricordo_server.rpc.checks import check_range
from ricordo_server.rpc.convert.times import decode_duration, encode_duration

MOST_TURNS, MOST_OVERLAP = 1_000, 20
LONGEST, MINUTE = timedelta(days=30), timedelta(minutes=1)


def decode_rule(message: session_pb2.TriggerRule, field: str) -> PromotionTriggers | None:
    """None of an empty one, and of none: the policy says when."""
    if not message.ByteSize():
        return None
    has_count = message.HasField("turn_count")
    return PromotionTriggers(
        turn_count=check_range(f"{field}.turn_count", message.turn_count, 1, MOST_TURNS)
        if has_count
        else None,
        idle_seconds=_decode_seconds(message, "idle", field),
        interval_seconds=_decode_seconds(message, "interval", field),
        topic_shift=None,
        overlap=check_range(f"{field}.overlap", message.overlap, 0, MOST_OVERLAP),
    )


def _decode_seconds(message: session_pb2.TriggerRule, name: str, field: str) -> float | None:
    if message.WhichOneof("timing") != name:
        return None
    given = decode_duration(getattr(message, name), f"{field}.{name}")
    if not timedelta(0) < given <= LONGEST:
        raise invalid_field(f"{field}.{name}", f"{field}.{name} is a time of up to 30 days")
    if name == "interval" and given % MINUTE:
        raise invalid_field(f"{field}.{name}", f"{field}.{name} is in whole minutes")
    return given.total_seconds()


def encode_rule(rule: PromotionTriggers) -> session_pb2.TriggerRule:
    return session_pb2.TriggerRule(
        turn_count=rule.turn_count,
        idle=_encode_seconds(rule.idle_seconds),
        interval=_encode_seconds(rule.interval_seconds),
        overlap=rule.overlap,
    )


def _encode_seconds(seconds: float | None) -> Duration | None:
    return encode_duration(None if seconds is None else timedelta(seconds=seconds))
