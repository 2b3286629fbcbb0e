"""A memory and what is written of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

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
    schema_id: str = ""
    field_name: str = ""


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
    """What a caller may say of a memory. Topics are stored as "managed:USER_PREFERENCES" or "custom:<label>"."""

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
    ttl: timedelta | None = None


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
)


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
    content_omitted: bool = False


@dataclass(frozen=True)
class MemoryRevision:
    memory: Memory
    revision_time: datetime
    action: RevisionAction


@dataclass(frozen=True)
class MemoryKey:
    """A natural key with the rule that says whose."""

    kind: MemoryKind
    key: str
    custom_type: str = ""
    scope: ScopeFilter = EVERY_SCOPE


def embedded_text(
    kind: MemoryKind, key: str | None, title: str, description: str, content: str, details: Details | None
) -> str:
    """What of a memory is embedded: one rule per kind."""
    match kind, details:
        case MemoryKind.DOCUMENT, _:
            parts: Sequence[str] = (description, content)
        case MemoryKind.EPISODIC, EpisodicDetails(summary=summary):
            parts = (title, summary, content)
        case MemoryKind.EPISODIC, _:
            parts = (title, content)
        case MemoryKind.PROCEDURAL, ProceduralDetails(trigger_conditions=triggers, steps=steps):
            parts = (key or title, description, *triggers, content or "\n".join(steps))
        case MemoryKind.PROCEDURAL, _:
            parts = (key or title, description, content)
        case MemoryKind.TAXONOMIC, TaxonomicDetails(term=term):
            parts = (term, content)
        case _:
            parts = (content,)
    return "\n".join(part for part in parts if part)
