"""Revisions, and how a call wants its own kept."""

from collections.abc import Mapping
from datetime import UTC, datetime

from ricordo.v1 import memory_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import MAX_TAGS
from ricordo_server.domain.memory import MemoryRevision
from ricordo_server.domain.retention import RevisionOptions
from ricordo_server.rpc.checks import check_count, check_text
from ricordo_server.rpc.convert.enums import encode_enum
from ricordo_server.rpc.convert.memories import encode_memory
from ricordo_server.rpc.convert.retention import decode_ttl
from ricordo_server.rpc.convert.times import decode_time, encode_time


def decode_revision_options(
    message: memory_pb2.RevisionOptions, field: str = "revision_options"
) -> RevisionOptions:
    labels = decode_revision_labels(message.labels, f"{field}.labels")
    match message.WhichOneof("expiration"):
        case "expire_time":
            expire_time = decode_time(message.expire_time, f"{field}.expire_time")
            if expire_time <= datetime.now(UTC):
                raise invalid_field(
                    f"{field}.expire_time", "expire_time lies in the past: give a time to come"
                )
            return RevisionOptions(labels, expire_time=expire_time)
        case "ttl":
            return RevisionOptions(labels, ttl=decode_ttl(message.ttl, f"{field}.ttl"))
        case "disabled":
            return RevisionOptions(labels, disabled=message.disabled)
        case _:
            return RevisionOptions(labels)


def decode_revision_labels(labels: Mapping[str, str], field: str) -> dict[str, str]:
    check_count(field, len(labels), MAX_TAGS)
    return {
        check_text(field, name, required=True): check_text(f"{field}.{name}", value)
        for name, value in labels.items()
    }


def encode_revision(revision: MemoryRevision) -> memory_pb2.MemoryRevision:
    return memory_pb2.MemoryRevision(
        memory=encode_memory(revision.memory),
        revision_time=encode_time(revision.revision_time),
        action=encode_enum(revision.action, memory_pb2.RevisionAction.DESCRIPTOR),
        expire_time=encode_time(revision.expire_time),
        labels=revision.labels,
        extracted_memories=revision.extracted,
    )
