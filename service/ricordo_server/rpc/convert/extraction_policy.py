"""How turns become memories, as a project says."""

from datetime import timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration

from ricordo.v1 import memory_pb2, project_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.extraction import EXTRACTED_KINDS
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.promotion import FLUSH, MOST_SNAPSHOT_TURNS, PromotionTriggers
from ricordo_server.rpc.checks import check_count, check_range
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.times import decode_duration

KIND = memory_pb2.MemoryKind.DESCRIPTOR
MOST_OVERLAP = 20


def decode_extraction_policy(message: project_pb2.ExtractionPolicy, field: str) -> ExtractionPolicy:
    return ExtractionPolicy(
        enabled=message.enabled if message.HasField("enabled") else True,
        triggers=_decode_triggers(message, field),
        kinds=_decode_kinds(message, f"{field}.kinds"),
    )


def _decode_triggers(message: project_pb2.ExtractionPolicy, field: str) -> PromotionTriggers:
    given: dict[str, Any] = {}
    if message.HasField("turn_count"):
        check_range(f"{field}.turn_count", message.turn_count, 0, MOST_SNAPSHOT_TURNS)
        given["turn_count"] = message.turn_count or None
    if message.HasField("idle"):
        given["idle_seconds"] = _decode_idle(message, f"{field}.idle")
    if message.HasField("topic_shift"):
        if not 0 <= message.topic_shift <= 1:
            raise invalid_field(f"{field}.topic_shift", f"{field}.topic_shift is a cosine: give 0 to 1")
        given["topic_shift"] = message.topic_shift or None
    if message.HasField("overlap"):
        given["overlap"] = check_range(f"{field}.overlap", message.overlap, 0, MOST_OVERLAP)
    return PromotionTriggers(**given)


def _decode_idle(message: project_pb2.ExtractionPolicy, field: str) -> float | None:
    idle = decode_duration(message.idle, field)
    if not timedelta(0) <= idle <= FLUSH:
        raise invalid_field(field, f"{field} is up to 24 hours; zero for no such trigger")
    return idle.total_seconds() or None


def _decode_kinds(message: project_pb2.ExtractionPolicy, field: str) -> tuple[MemoryKind, ...]:
    check_count(field, len(message.kinds), len(EXTRACTED_KINDS))
    kinds = [decode_enum(number, KIND, MemoryKind, field) for number in message.kinds]
    if any(kind not in EXTRACTED_KINDS for kind in kinds):
        raise invalid_field(field, f"{field} takes {', '.join(EXTRACTED_KINDS)}")
    return tuple(kind for kind in EXTRACTED_KINDS if kind in kinds) or EXTRACTED_KINDS


def encode_extraction_policy(policy: ExtractionPolicy) -> project_pb2.ExtractionPolicy | None:
    """Nothing for the defaults."""
    if policy == ExtractionPolicy():
        return None
    idle = Duration()
    idle.FromTimedelta(timedelta(seconds=policy.triggers.idle_seconds or 0))
    kinds: Any = [] if policy.kinds == EXTRACTED_KINDS else [encode_enum(kind, KIND) for kind in policy.kinds]
    return project_pb2.ExtractionPolicy(
        enabled=policy.enabled,
        turn_count=policy.triggers.turn_count or 0,
        idle=idle,
        topic_shift=policy.triggers.topic_shift or 0,
        overlap=policy.triggers.overlap,
        kinds=kinds,
    )
