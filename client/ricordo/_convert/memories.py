"""Memories, to the wire and back."""

from collections.abc import Iterable
from datetime import timedelta

from google.protobuf.field_mask_pb2 import FieldMask
from google.rpc.code_pb2 import Code

from ricordo import models
from ricordo._convert import details, enums, scopes, values
from ricordo.errors import MemoryClientError
from ricordo.v1 import error_reason_pb2, item_error_pb2, memory_pb2, memory_service_pb2


def encode_memory(
    memory: models.NewMemory | models.MemoryChanges, *, memory_id: str = "", ttl: timedelta | None = None
) -> memory_pb2.Memory:
    """Encodes what is to be written; `ttl`, when given, wins over `expire_time`."""
    expire_time = values.encode_time(memory.expire_time, "expire_time") if ttl is None else None
    message = memory_pb2.Memory(
        memory_id=memory_id,
        content=memory.content,
        title=memory.title,
        description=memory.description,
        agent_id=memory.agent_id,
        visibility=enums.VISIBILITY.encode(memory.visibility),
        metadata=values.encode_metadata(memory.metadata),
        topics=[encode_topic(topic) for topic in memory.topics],
        tags=memory.tags,
        source=enums.MEMORY_SOURCE.encode(memory.source),
        event_time=values.encode_time(memory.event_time, "event_time"),
        event_end_time=values.encode_time(memory.event_end_time, "event_end_time"),
        expire_time=expire_time,
        ttl=values.encode_duration(ttl),
        pinned=memory.pinned,
    )
    details.set_details(message, memory.details)
    if isinstance(memory, models.NewMemory):
        _set_identity(message, memory)
    return message


def _set_identity(message: memory_pb2.Memory, memory: models.NewMemory) -> None:
    """Sets what is fixed once the memory is written."""
    message.MergeFrom(
        memory_pb2.Memory(
            memory_id=memory.memory_id,
            kind=enums.MEMORY_KIND.encode(memory.kind),
            custom_type=memory.custom_type,
            key=memory.key,
            scope=scopes.encode_scope(memory.scope),
            provenance=_encode_provenance(memory.provenance),
        )
    )


def decode_domain(domain: memory_service_pb2.Domain) -> models.Domain:
    """Decodes a domain."""
    return models.Domain(name=domain.name, term_count=domain.term_count)


def decode_memory(memory: memory_pb2.Memory) -> models.Memory:
    """Decodes a memory as stored."""
    return models.Memory(
        memory_id=memory.memory_id,
        store_id=memory.store_id,
        kind=enums.MEMORY_KIND.decode(memory.kind),
        custom_type=memory.custom_type,
        key=memory.key,
        content=memory.content,
        title=memory.title,
        description=memory.description,
        scope=scopes.decode_scope(memory.scope),
        agent_id=memory.agent_id,
        visibility=enums.VISIBILITY.decode(memory.visibility),
        metadata=values.decode_metadata(memory.metadata),
        topics=tuple(decode_topic(topic) for topic in memory.topics),
        tags=tuple(memory.tags),
        details=details.decode_details(memory),
        source=enums.MEMORY_SOURCE.decode(memory.source),
        provenance=_decode_provenance(memory.provenance),
        revision=memory.revision,
        create_time=values.decode_time(memory.create_time),
        update_time=values.decode_time(memory.update_time),
        event_time=values.decode_optional_time(memory.event_time, memory.HasField("event_time")),
        event_end_time=values.decode_optional_time(memory.event_end_time, memory.HasField("event_end_time")),
        expire_time=values.decode_optional_time(memory.expire_time, memory.HasField("expire_time")),
        delete_time=values.decode_optional_time(memory.delete_time, memory.HasField("delete_time")),
        pinned=memory.pinned,
        has_embedding=memory.has_embedding,
        embedding_model=memory.embedding_model,
        content_omitted=memory.content_omitted,
    )


def encode_changes_mask(changes: models.MemoryChanges, ttl: timedelta | None) -> FieldMask:
    """The names of the fields that were given."""
    given = sorted(changes.model_fields_set - ({"expire_time"} if ttl is not None else set()))
    return FieldMask(paths=[*given, *(["ttl"] if ttl is not None else [])])


def decode_revision(revision: memory_pb2.MemoryRevision) -> models.MemoryRevision:
    """Decodes a revision."""
    return models.MemoryRevision(
        memory=decode_memory(revision.memory),
        revision_time=values.decode_time(revision.revision_time),
        action=enums.REVISION_ACTION.decode(revision.action),
        expire_time=values.decode_optional_time(revision.expire_time, revision.HasField("expire_time")),
        labels=dict(revision.labels),
        extracted_memories=tuple(revision.extracted_memories),
    )


def encode_revision_options(options: models.RevisionOptions | None) -> memory_pb2.RevisionOptions | None:
    """Encodes how a change is kept.

    Raises:
        MemoryClientError: Several of `expire_time`, `ttl` and `disabled` are given.
    """
    if options is None:
        return None
    ends = (options.expire_time, options.ttl, options.disabled)
    if sum(each is not None for each in ends) > 1:
        message = "give one of expire_time, ttl and disabled: each says how long the revision is kept"
        raise MemoryClientError(message)
    encoded = memory_pb2.RevisionOptions(
        labels=options.labels,
        expire_time=values.encode_time(options.expire_time, "revision_options.expire_time"),
        ttl=None if options.ttl is None else values.encode_duration(options.ttl),
    )
    if options.disabled is not None:
        encoded.disabled = options.disabled
    return encoded


def decode_results(results: Iterable[memory_service_pb2.MemoryResult]) -> tuple[models.MemoryResult, ...]:
    """Decodes the outcomes of a batch."""
    return tuple(
        models.MemoryResult(error=_decode_item_error(result.error))
        if result.HasField("error")
        else models.MemoryResult(memory=decode_memory(result.memory))
        for result in results
    )


def _decode_item_error(error: item_error_pb2.ItemError) -> models.ItemError:
    return models.ItemError(
        code=_name(Code.items(), error.code),
        reason=_name(error_reason_pb2.ErrorReason.items(), error.reason).removeprefix("ERROR_REASON_"),
        field=error.field,
        message=error.message,
    )


def _name(items: Iterable[tuple[str, int]], number: int) -> str:
    return next((name for name, value in items if value == number), str(number))


def encode_topic(topic: models.Topic) -> memory_pb2.Topic:
    """Encodes a topic."""
    if isinstance(topic, models.ManagedTopic):
        return memory_pb2.Topic(managed=enums.MANAGED_TOPIC.encode(topic))
    return memory_pb2.Topic(custom_label=topic)


def decode_topic(topic: memory_pb2.Topic) -> models.Topic:
    """Decodes a topic."""
    if topic.HasField("managed"):
        return enums.MANAGED_TOPIC.decode(topic.managed)
    return topic.custom_label


def _encode_provenance(provenance: models.Provenance) -> memory_pb2.Provenance | None:
    if provenance == models.Provenance():
        return None
    return memory_pb2.Provenance(**provenance.model_dump())


def _decode_provenance(provenance: memory_pb2.Provenance) -> models.Provenance:
    return models.Provenance(
        session_id=provenance.session_id,
        turn_ids=tuple(provenance.turn_ids),
        source_store_id=provenance.source_store_id,
        snapshot_id=provenance.snapshot_id,
        extraction_model=provenance.extraction_model,
        prompt_version=provenance.prompt_version,
        trust=provenance.trust,
    )
