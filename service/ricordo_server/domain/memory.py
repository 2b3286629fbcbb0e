"""A memory and what is written of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ricordo_server.domain.filter import Filter
from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.scope import EVERY_SCOPE, Scope, ScopeFilter, Visibility


class MemoryKind(StrEnum):
    SEMANTIC = "SEMANTIC"
    EPISODIC = "EPISODIC"
    PROCEDURAL = "PROCEDURAL"
    TAXONOMIC = "TAXONOMIC"
    DOCUMENT = "DOCUMENT"
    PROFILE = "PROFILE"
    CUSTOM = "CUSTOM"


class MemorySource(StrEnum):
    AGENT = "AGENT"
    USER = "USER"
    EXTRACTION = "EXTRACTION"
    IMPORT = "IMPORT"


class ManagedTopic(StrEnum):
    USER_PERSONAL_INFO = "USER_PERSONAL_INFO"
    USER_PREFERENCES = "USER_PREFERENCES"
    KEY_CONVERSATION_DETAILS = "KEY_CONVERSATION_DETAILS"
    EXPLICIT_INSTRUCTIONS = "EXPLICIT_INSTRUCTIONS"


# A topic is stored as text behind one of these, so that no label of the caller's is taken for a managed one.
MANAGED_TOPIC, CUSTOM_TOPIC = "managed:", "custom:"


class RevisionAction(StrEnum):
    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"


@dataclass(frozen=True)
class EpisodicDetails:
    participants: Sequence[str] = ()
    summary: str = ""


@dataclass(frozen=True)
class ProceduralDetails:
    steps: Sequence[str] = ()
    resources: Sequence[str] = ()
    allowed_tools: Sequence[str] = ()
    compatibility: str = ""
    license: str = ""
    trigger_conditions: Sequence[str] = ()
    source_format: str = ""
    source_path: str = ""


@dataclass(frozen=True)
class TaxonomicDetails:
    domain: str = ""
    term: str = ""
    related_terms: Sequence[str] = ()


@dataclass(frozen=True)
class CustomDetails:
    contextual_metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class ProfileDetails:
    """`content_is_json` is read from the schemas of today, and never stored."""

    schema_id: str = ""
    field_name: str = ""
    content_is_json: bool = False


Details = EpisodicDetails | ProceduralDetails | TaxonomicDetails | CustomDetails | ProfileDetails

DETAILS_OF_KIND: Mapping[MemoryKind, type[Details]] = {
    MemoryKind.EPISODIC: EpisodicDetails,
    MemoryKind.PROCEDURAL: ProceduralDetails,
    MemoryKind.TAXONOMIC: TaxonomicDetails,
    MemoryKind.CUSTOM: CustomDetails,
    MemoryKind.PROFILE: ProfileDetails,
}


@dataclass(frozen=True)
class Provenance:
    session_id: str = ""
    turn_ids: Sequence[str] = ()
    source_store_id: str = ""
    snapshot_id: str = ""
    extraction_model: str = ""
    prompt_version: str = ""
    trust: str = ""


@dataclass(frozen=True)
class MemoryDraft:
    """What a caller may say of a memory. A topic stands behind MANAGED_TOPIC or CUSTOM_TOPIC."""

    kind: MemoryKind
    content: str
    memory_id: str | None = None
    custom_type: str = ""
    key: str | None = None
    title: str = ""
    description: str = ""
    scope: Scope = Scope()
    agent_id: str = ""
    visibility: Visibility = Visibility.PRIVATE
    metadata: Metadata = field(default_factory=dict)
    topics: Sequence[str] = ()
    tags: Sequence[str] = ()
    details: Details | None = None
    source: MemorySource = MemorySource.AGENT
    provenance: Provenance = Provenance()
    event_time: datetime | None = None
    event_end_time: datetime | None = None
    expire_time: datetime | None = None
    pinned: bool = False


# The fields of a draft that a change may name: the contract's paths of update masks.
CHANGEABLE_FIELDS = (
    "content",
    "title",
    "description",
    "agent_id",
    "visibility",
    "metadata",
    "topics",
    "tags",
    "details",
    "source",
    "event_time",
    "event_end_time",
    "expire_time",
    "pinned",
)

# What a memory is again at an earlier revision: when it ends, and whether it is pinned, are of today.
RESTORED_FIELDS = (
    *(name for name in CHANGEABLE_FIELDS if name not in ("expire_time", "pinned")),
    "provenance",
)


# New values by field name, each of the type the draft has for it.
MemoryChanges = Mapping[str, object]


@dataclass(frozen=True)
class Memory:
    """A memory as stored."""

    memory_id: str
    store_id: str
    kind: MemoryKind
    custom_type: str
    key: str | None
    content: str
    title: str
    description: str
    scope: Scope
    agent_id: str
    visibility: Visibility
    metadata: Metadata
    topics: Sequence[str]
    tags: Sequence[str]
    details: Details | None
    source: MemorySource
    provenance: Provenance
    revision: int
    create_time: datetime
    update_time: datetime
    event_time: datetime | None
    event_end_time: datetime | None
    expire_time: datetime | None
    delete_time: datetime | None
    has_embedding: bool
    embedding_model: str
    pinned: bool = False
    content_omitted: bool = False


@dataclass(frozen=True)
class MemoryRevision:
    """`extracted`: what was learned, where turns or facts made the change, before it met the memories there were."""

    memory: Memory
    revision_time: datetime
    action: RevisionAction
    expire_time: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    extracted: Sequence[str] = ()


@dataclass(frozen=True)
class MemoryKey:
    """A natural key with the rule that says whose."""

    kind: MemoryKind
    key: str
    custom_type: str = ""
    scope: ScopeFilter = EVERY_SCOPE


@dataclass(frozen=True)
class MemoryQuery:
    """Which memories a read may see; empty fields do not restrict."""

    scope: ScopeFilter = EVERY_SCOPE
    visibility: Visibility | None = None
    kinds: Sequence[MemoryKind] = ()
    custom_types: Sequence[str] = ()
    filter: Filter | None = None
    include_deleted: bool = False


# The fields that the index of declared metadata keys reads.
ATTRIBUTE_FIELDS = frozenset({"metadata", "visibility"})

# The fields that `embedded_text` reads: a change of none of them leaves the vectors as they are.
EMBEDDED_FIELDS = frozenset({"content", "title", "description", "details"})


def made_key(*parts: str) -> str:
    """The key of a kind that has no name of its own, as canonical JSON of what makes it unique."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def embedded_text(memory: MemoryDraft | Memory) -> str:
    """What of a memory is embedded: one rule per kind."""
    name = memory.key or memory.title
    match memory.kind, memory.details:
        case MemoryKind.DOCUMENT, _:
            parts: Sequence[str] = (memory.description, memory.content)
        case MemoryKind.EPISODIC, EpisodicDetails(summary=summary):
            parts = (memory.title, summary, memory.content)
        case MemoryKind.EPISODIC, _:
            parts = (memory.title, memory.content)
        case MemoryKind.PROCEDURAL, ProceduralDetails(trigger_conditions=triggers, steps=steps):
            parts = (name, memory.description, *triggers, memory.content or "\n".join(steps))
        case MemoryKind.PROCEDURAL, _:
            parts = (name, memory.description, memory.content)
        case MemoryKind.TAXONOMIC, TaxonomicDetails(term=term):
            parts = (term, memory.content)
        case MemoryKind.PROFILE, ProfileDetails(field_name=field_name):
            parts = (field_name, memory.content)
        case _:
            parts = (memory.content,)
    return "\n".join(part for part in parts if part)
