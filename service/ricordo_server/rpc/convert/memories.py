"""Memories."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from ricordo.v1 import memory_pb2, scope_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import (
    MAX_CONTENT_BYTES,
    MAX_DESCRIPTION_BYTES,
    MAX_PROVENANCE_TURNS,
    MAX_TAGS,
    MAX_TITLE_BYTES,
    MAX_TOPICS,
)
from ricordo_server.domain.memory import (
    CHANGEABLE_FIELDS,
    CUSTOM_TOPIC,
    MANAGED_TOPIC,
    Details,
    ManagedTopic,
    Memory,
    MemoryChanges,
    MemoryDraft,
    MemoryKind,
    MemorySource,
    ProceduralDetails,
    Provenance,
)
from ricordo_server.domain.scope import Visibility
from ricordo_server.rpc.checks import (
    MEMORY_ID,
    TYPE_NAME,
    check_count,
    check_encoded_size,
    check_pattern,
    check_text,
    check_texts,
)
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.memory_details import DETAILS_MEMBERS, decode_details, encode_details
from ricordo_server.rpc.convert.memory_keys import decode_key
from ricordo_server.rpc.convert.metadata import decode_metadata_map, encode_metadata_map
from ricordo_server.rpc.convert.scope import decode_scope, decode_visibility, encode_scope
from ricordo_server.rpc.convert.times import decode_duration, decode_time, encode_time

Message = memory_pb2.Memory


def decode_kind(number: int, field: str) -> MemoryKind | None:
    return decode_enum(number, memory_pb2.MemoryKind.DESCRIPTOR, MemoryKind, field)


def decode_kinds(numbers: Sequence[int]) -> list[MemoryKind]:
    kinds = [decode_kind(number, f"kinds[{position}]") for position, number in enumerate(numbers)]
    if None in kinds:
        raise invalid_field("kinds", "kinds holds MEMORY_KIND_UNSPECIFIED: name the kinds, or give none")
    return [kind for kind in kinds if kind]


def decode_draft(message: Message, field: str = "memory", *, content_required: bool = True) -> MemoryDraft:
    """What a caller may say; output fields are ignored."""
    check_encoded_size(field, message)
    kind = decode_kind(message.kind, f"{field}.kind")
    if kind is None:
        raise invalid_field(f"{field}.kind", "kind is required: say what is remembered, for example SEMANTIC")
    details = decode_details(message, kind, f"{field}.details")
    if content_required:
        _require_content(message, kind, details, field)
    return MemoryDraft(
        kind=kind,
        custom_type=decode_custom_type(message.custom_type, kind, f"{field}.custom_type"),
        key=decode_key(kind, message.key, details, f"{field}.key"),
        memory_id=_decode_id(message.memory_id, f"{field}.memory_id"),
        scope=decode_scope(message.scope, f"{field}.scope"),
        provenance=_decode_provenance(message.provenance, f"{field}.provenance"),
        details=details,
        visibility=decode_visibility(message.visibility, f"{field}.visibility") or DEFAULT_VISIBILITY[kind],
        **_decode_plain_fields(message, field),
    )


DEFAULT_VISIBILITY = dict.fromkeys(MemoryKind, Visibility.PRIVATE) | {
    MemoryKind.TAXONOMIC: Visibility.PROJECT
}


def _require_content(message: Message, kind: MemoryKind | None, details: Details | None, field: str) -> None:
    """A document may be empty, and steps say what content would."""
    if kind is not MemoryKind.DOCUMENT and not _has_steps(details):
        check_text(f"{field}.content", message.content, limit=MAX_CONTENT_BYTES, required=True)


def _has_steps(details: Details | None) -> bool:
    return isinstance(details, ProceduralDetails) and bool(details.steps)


def decode_changes(message: Message, paths: Sequence[str], field: str = "memory") -> MemoryChanges:
    """The new values of the masked fields.

    Raises:
        DomainError: INVALID_FIELD naming the accepted paths.
    """
    check_encoded_size(field, message)
    values = _decode_plain_fields(message, field)
    masked = decode_mask(paths)
    if not masked:
        raise invalid_field("update_mask", f"update_mask is required; accepted: {ACCEPTED_PATHS}")
    if "details" in masked:
        values["details"] = decode_details(message, None, f"{field}.details")
    if "visibility" in masked:
        values["visibility"] = decode_visibility(message.visibility, f"{field}.visibility") or _missing(field)
    if "content" in masked:
        # The row's kind is not known here: who empties a document says so, by giving its kind.
        kind = decode_kind(message.kind, f"{field}.kind")
        _require_content(message, kind, values.get("details"), field)
    return {name: values[name] for name in masked}


def _missing(field: str) -> Visibility:
    raise invalid_field(f"{field}.visibility", "visibility is in the mask but not given: PRIVATE or PROJECT")


# Other names of the mask for a field of the draft.
PATH_ALIASES = {"ttl": "expire_time"} | dict.fromkeys(DETAILS_MEMBERS, "details")
ACCEPTED_PATHS = ", ".join((*CHANGEABLE_FIELDS, *PATH_ALIASES))


def decode_mask(paths: Sequence[str]) -> list[str]:
    """Field names of the draft, each once."""
    names = [PATH_ALIASES.get(path, path) for path in paths]
    for path, name in zip(paths, names, strict=True):
        if name not in CHANGEABLE_FIELDS:
            raise invalid_field("update_mask", f"{path!r} cannot be changed; accepted: {ACCEPTED_PATHS}")
    return list(dict.fromkeys(names))


def put_fields(message: Message, paths: Sequence[str]) -> list[str]:
    """What a put changes: the mask, or everything; an expiry and a pin are kept unless one is given."""
    if paths:
        return decode_mask(paths)
    given = {"expire_time": message.WhichOneof("expiration") is not None, "pinned": message.pinned}
    return [name for name in CHANGEABLE_FIELDS if given.get(name, True)]


def _decode_plain_fields(message: Message, field: str) -> dict[str, Any]:
    """The changeable fields that do not depend on the kind."""
    event_time = _time(message, "event_time", field)
    event_end_time = _time(message, "event_end_time", field)
    if event_end_time and (event_time is None or event_end_time < event_time):
        raise invalid_field(f"{field}.event_end_time", "event_end_time must not be before event_time")
    return {
        "content": check_text(f"{field}.content", message.content, limit=MAX_CONTENT_BYTES),
        "title": check_text(f"{field}.title", message.title, limit=MAX_TITLE_BYTES),
        "description": check_text(f"{field}.description", message.description, limit=MAX_DESCRIPTION_BYTES),
        "agent_id": check_text(f"{field}.agent_id", message.agent_id),
        "metadata": decode_metadata_map(message.metadata, f"{field}.metadata"),
        "topics": decode_topics(message.topics, f"{field}.topics"),
        "tags": check_texts(f"{field}.tags", message.tags, most=MAX_TAGS),
        "source": _decode_source(message.source, f"{field}.source"),
        "event_time": event_time,
        "event_end_time": event_end_time,
        "expire_time": _decode_expiration(message, field),
        "pinned": message.pinned,
    }


def _time(message: Message, name: str, field: str) -> datetime | None:
    return decode_time(getattr(message, name), f"{field}.{name}") if message.HasField(name) else None  # type: ignore[arg-type]


def _decode_expiration(message: Message, field: str) -> datetime | None:
    given = message.WhichOneof("expiration")
    if given is None:
        return None
    try:
        expires = (
            decode_time(message.expire_time, f"{field}.expire_time")
            if given == "expire_time"
            else datetime.now(UTC) + decode_duration(message.ttl, f"{field}.ttl")
        )
    except OverflowError as error:
        raise invalid_field(f"{field}.ttl", "ttl ends after the year 9999") from error
    if expires <= datetime.now(UTC):
        raise invalid_field(f"{field}.{given}", f"{given} lies in the past: give a time to come")
    return expires


def _decode_source(number: int, field: str) -> MemorySource:
    source = decode_enum(number, memory_pb2.MemorySource.DESCRIPTOR, MemorySource, field)
    if source is MemorySource.EXTRACTION:
        raise invalid_field(field, "EXTRACTION is the server's own: give AGENT, USER or IMPORT")
    return source or MemorySource.AGENT


def _decode_id(value: str, field: str) -> str | None:
    return check_pattern(field, value, MEMORY_ID) if value else None


def decode_custom_type(value: str, kind: MemoryKind, field: str) -> str:
    if kind is MemoryKind.CUSTOM:
        return check_pattern(field, value, TYPE_NAME)
    if value:
        raise invalid_field(field, f"custom_type goes with kind CUSTOM, not with {kind}")
    return ""


def decode_topics(topics: Iterable[memory_pb2.Topic], field: str) -> list[str]:
    decoded = [_decode_topic(topic, f"{field}[{number}]") for number, topic in enumerate(topics)]
    check_count(field, len(decoded), MAX_TOPICS)
    return decoded


def _decode_topic(topic: memory_pb2.Topic, field: str) -> str:
    if topic.WhichOneof("label") == "custom_label":
        return CUSTOM_TOPIC + check_text(f"{field}.custom_label", topic.custom_label, required=True)
    managed = decode_enum(topic.managed, memory_pb2.ManagedTopic.DESCRIPTOR, ManagedTopic, f"{field}.managed")
    if managed is None:
        raise invalid_field(field, "a topic is empty: give managed or custom_label")
    return MANAGED_TOPIC + managed


def encode_topic(stored: str) -> memory_pb2.Topic:
    if stored.startswith(CUSTOM_TOPIC):
        return memory_pb2.Topic(custom_label=stored.removeprefix(CUSTOM_TOPIC))
    name = "MANAGED_TOPIC_" + stored.removeprefix(MANAGED_TOPIC)
    return memory_pb2.Topic(managed=memory_pb2.ManagedTopic.Value(name))


def _decode_provenance(message: memory_pb2.Provenance, field: str) -> Provenance:
    turn_ids = check_texts(f"{field}.turn_ids", message.turn_ids, most=MAX_PROVENANCE_TURNS)
    texts = {name: check_text(f"{field}.{name}", getattr(message, name)) for name in PROVENANCE_TEXTS}
    return Provenance(turn_ids=turn_ids, **texts)


PROVENANCE_TEXTS = [field.name for field in fields(Provenance) if field.name != "turn_ids"]


def encode_memory(memory: Memory) -> Message:
    message = Message(
        memory_id=memory.memory_id,
        store_id=memory.store_id,
        kind=encode_enum(memory.kind, memory_pb2.MemoryKind.DESCRIPTOR),
        custom_type=memory.custom_type,
        key=memory.key or "",
        content=memory.content,
        title=memory.title,
        description=memory.description,
        scope=encode_scope(memory.scope),
        agent_id=memory.agent_id,
        visibility=encode_enum(memory.visibility, scope_pb2.Visibility.DESCRIPTOR),
        metadata=encode_metadata_map(memory.metadata),
        topics=[encode_topic(topic) for topic in memory.topics],
        tags=memory.tags,
        source=encode_enum(memory.source, memory_pb2.MemorySource.DESCRIPTOR),
        provenance=memory_pb2.Provenance(**vars(memory.provenance)),
        revision=memory.revision,
        create_time=encode_time(memory.create_time),
        update_time=encode_time(memory.update_time),
        event_time=encode_time(memory.event_time),
        event_end_time=encode_time(memory.event_end_time),
        expire_time=encode_time(memory.expire_time),
        delete_time=encode_time(memory.delete_time),
        pinned=memory.pinned,
        has_embedding=memory.has_embedding,
        embedding_model=memory.embedding_model,
    )
    encode_details(memory.details, message)
    return message
