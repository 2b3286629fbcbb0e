"""What the facade's `get_*` and `list_*` answer: plain dicts, in the words of agent-engine memory."""

from datetime import datetime
from typing import Any, TypedDict

from ricordo.models.base import MemorySource, Metadata, Visibility


class MemoryEntry(TypedDict):
    """What every entry has. `session_id` is the session it belongs to or was learned in; times are UTC."""

    id: str
    user_id: str
    agent_id: str
    session_id: str
    visibility: Visibility
    source: MemorySource
    tags: list[str]
    metadata: Metadata
    has_embedding: bool
    revision: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


class SemanticEntry(MemoryEntry):
    """A fact."""

    label: str
    text: str


class EpisodicEntry(MemoryEntry):
    """An episode."""

    title: str
    content: str
    summary: str
    participants: list[str]


class TaxonomicEntry(MemoryEntry):
    """A term of a domain."""

    domain: str
    term: str
    definition: str
    related_terms: list[str]


class ProceduralEntry(MemoryEntry):
    """A procedure; `steps` and `resources` are dicts or text, as they were saved."""

    procedure: str
    description: str
    content: str
    steps: list[dict[str, Any] | str]
    resources: list[dict[str, Any] | str]
    allowed_tools: list[str]
    compatibility: str
    license: str
    trigger_conditions: list[str]
    source_format: str
    source_path: str
    extraction_source: str


class CustomEntry(MemoryEntry):
    """A memory of a custom type; `metadata` holds its tags, nested."""

    type: str
    content: str
    contextual_metadata: Metadata
