"""Memories of a bank: they are ours, with the fact as content and the display name as title."""

import json
from collections.abc import Mapping
from typing import Any

from ricordo import models
from ricordo._convert.bank_names import Name
from ricordo._convert.bank_values import (
    our_scope,
    our_topics,
    plain_metadata,
    their_scope,
    their_topics,
    typed_metadata,
)
from ricordo.errors import MemoryClientError
from ricordo.memory_bank import (
    IntermediateExtractedMemory,
    Memory,
    MemoryConfig,
    MemoryRevision,
    MemoryStructuredContent,
    MemoryType,
    RetrieveMemoriesConfig,
    UpdateMemoryConfig,
)
from ricordo.memory_bank.revision import RevisionConfig
from ricordo.models import MemoryKind

NATURAL_LANGUAGE = (MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.DOCUMENT)
ALL_KINDS = (*NATURAL_LANGUAGE, MemoryKind.PROFILE)
KINDS = {
    MemoryType.NATURAL_LANGUAGE_COLLECTION: NATURAL_LANGUAGE,
    MemoryType.STRUCTURED_PROFILE: (MemoryKind.PROFILE,),
}

# The fields that an update may change: their names there, and what "cleared" is.
CHANGES: dict[str, tuple[str, Any]] = {
    "fact": ("content", ""),
    "display_name": ("title", ""),
    "description": ("description", ""),
    "topics": ("topics", ()),
    "metadata": ("metadata", {}),
    "expire_time": ("expire_time", None),
    "ttl": ("expire_time", None),
}


def new_memory(fact: str, scope: Mapping[str, str], config: MemoryConfig) -> models.NewMemory:
    """The memory to write."""
    return models.NewMemory(
        content=fact,
        memory_id=config.memory_id or "",
        scope=our_scope(scope),
        title=config.display_name or "",
        description=config.description or "",
        topics=our_topics(config.topics or ()),
        metadata=plain_metadata(config.metadata or {}),
        expire_time=config.expire_time,
    )


def changes_of(fact: str | None, config: UpdateMemoryConfig) -> models.MemoryChanges:
    """What an update changes; a `ttl` goes beside it.

    Raises:
        MemoryClientError: Nothing is given, or the mask names no field, or not one that is given.
    """
    given = {"fact": fact, **{name: getattr(config, name) for name in CHANGES if name != "fact"}}
    given = {name: value for name, value in given.items() if value is not None}
    names = given.keys() if config.update_mask is None else _masked(config.update_mask, given)
    if not names:
        raise MemoryClientError(f"update changes what is given: give one of {', '.join(CHANGES)}")
    encoded = {CHANGES[name][0]: _encode(name, given) for name in names if name != "ttl" or name not in given}
    return models.MemoryChanges(**encoded)


def _masked(mask: str, given: Mapping[str, Any]) -> list[str]:
    names = ["".join(f"_{c.lower()}" if c.isupper() else c for c in word.strip()) for word in mask.split(",")]
    unknown = [name for name in names if name not in CHANGES]
    if unknown:
        raise MemoryClientError(f"update_mask names {unknown[0]!r}: choose from {', '.join(CHANGES)}")
    left_out = [name for name in given if name not in names]
    if left_out:
        raise MemoryClientError(
            f"{left_out[0]} is given, and update_mask leaves it out: add it, or do not give it"
        )
    return names


def _encode(name: str, given: Mapping[str, Any]) -> Any:
    if name not in given:
        return CHANGES[name][1]
    value = given[name]
    match name:
        case "topics":
            return our_topics(value)
        case "metadata":
            return plain_metadata(value)
    return value


def revision_options(config: RevisionConfig) -> models.RevisionOptions | None:
    """How the change is kept as a revision; None: as the bank says."""
    options = models.RevisionOptions(
        labels=config.revision_labels,
        expire_time=config.revision_expire_time,
        ttl=config.revision_ttl,
        disabled=config.disable_memory_revisions,
    )
    return options if options != models.RevisionOptions() else None


def kinds_of(config: RetrieveMemoriesConfig) -> tuple[MemoryKind, ...]:
    """Which kinds are read.

    Raises:
        MemoryClientError: Both words for it are used.
    """
    if config.kinds and config.memory_types:
        raise MemoryClientError("give memory_types or kinds: they say the same")
    types = config.memory_types or [MemoryType.NATURAL_LANGUAGE_COLLECTION]
    return tuple(config.kinds) or tuple(kind for each in types for kind in KINDS[each])


def decode_memory(memory: models.Memory, bank: Name) -> Memory:
    """The memory, in the words of memory banks."""
    structured = _structured(memory)
    return Memory(
        name=str(bank.memory(memory.memory_id)),
        memory_id=memory.memory_id,
        kind=memory.kind,
        memory_type=MemoryType.STRUCTURED_PROFILE if structured else MemoryType.NATURAL_LANGUAGE_COLLECTION,
        revision=memory.revision,
        fact=None if memory.content_omitted else memory.content,
        scope=their_scope(memory.scope),
        display_name=memory.title or None,
        description=memory.description or None,
        topics=their_topics(memory.topics),
        metadata=typed_metadata(memory.metadata),
        structured_content=structured,
        create_time=memory.create_time,
        update_time=memory.update_time,
        expire_time=memory.expire_time,
    )


def decode_revision(revision: models.MemoryRevision, name: Name) -> MemoryRevision:
    """The revision, in the words of memory banks."""
    memory = revision.memory
    structured = _structured(memory)
    data = structured.data if structured else None
    return MemoryRevision(
        name=str(name.at(memory.revision)),
        revision=memory.revision,
        action=revision.action,
        fact=None if memory.content_omitted else memory.content,
        structured_data=data,
        labels=dict(revision.labels),
        extracted_memories=[
            IntermediateExtractedMemory(fact=fact, structured_data=data)
            for fact in revision.extracted_memories
        ],
        create_time=revision.revision_time,
        expire_time=revision.expire_time,
    )


def _structured(memory: models.Memory) -> MemoryStructuredContent | None:
    details = memory.details
    if not isinstance(details, models.ProfileDetails):
        return None
    is_json = details.content_is_json and not memory.content_omitted
    value = json.loads(memory.content) if is_json else memory.content
    return MemoryStructuredContent(schema_id=details.schema_id, data={details.field_name: value})
