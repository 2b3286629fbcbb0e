"""Memories: what is written, what comes back, and what only one kind has."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from pydantic import Field

from ricordo.models.base import (
    ManagedTopic,
    MemoryKind,
    MemorySource,
    Metadata,
    Model,
    RevisionAction,
    Visibility,
)
from ricordo.models.scope import Scope

Topic: TypeAlias = ManagedTopic | str
"""A topic every project has, or a label of your own (at most 512 bytes)."""


class EpisodicDetails(Model):
    """Of an episodic memory: who took part (at most 64), and a summary of at most 8 KiB."""

    participants: tuple[str, ...] = ()
    summary: str = ""


class ProceduralDetails(Model):
    """Of a procedural memory; at most 256 steps."""

    steps: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    compatibility: str = ""
    license: str = ""
    trigger_conditions: tuple[str, ...] = ()
    source_format: str = ""
    source_path: str = ""


class TaxonomicDetails(Model):
    """Of a taxonomic memory: the key is made of domain and term, at most 512 bytes each."""

    domain: str
    term: str
    related_terms: tuple[str, ...] = ()


class CustomDetails(Model):
    """Of a custom memory: stored and returned as it is, never filterable."""

    contextual_metadata: Metadata = Field(default_factory=dict)


class ProfileDetails(Model):
    """Of a profile memory: one field of a schema.

    `content_is_json` comes from the server: the content is a value of another type than string, and the schema allows
    it.
    """

    schema_id: str
    field_name: str
    content_is_json: bool = False


Details: TypeAlias = EpisodicDetails | ProceduralDetails | TaxonomicDetails | CustomDetails | ProfileDetails


class Provenance(Model):
    """Where a memory comes from. `trust` is the role of its turns: "user", "assistant", "tool"."""

    session_id: str = ""
    turn_ids: tuple[str, ...] = ()
    source_store_id: str = ""
    snapshot_id: str = ""
    extraction_model: str = ""
    prompt_version: str = ""
    trust: str = ""


class NewMemory(Model):
    """A memory to write.

    `content` holds at most 256 KiB of UTF-8, `title` 1 KiB, `description` 8 KiB, `key` 512 bytes. `memory_id`
    may be chosen by service credentials: at most 63 of `[a-z0-9-]`. `custom_type` goes with the kind `custom`
    only. Without a `visibility`, taxonomic memories are written `org` and all others `private`. `expire_time`
    must lie in the future. Times need a zone. What is `pinned` no extraction changes, replaces or deletes.
    """

    kind: MemoryKind = MemoryKind.SEMANTIC
    content: str = ""
    memory_id: str = ""
    custom_type: str = ""
    key: str = ""
    title: str = ""
    description: str = ""
    scope: Scope = Scope()
    agent_id: str = ""
    visibility: Visibility | None = None
    metadata: Metadata = Field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    tags: tuple[str, ...] = ()
    details: Details | None = None
    source: MemorySource = MemorySource.AGENT
    provenance: Provenance = Provenance()
    event_time: datetime | None = None
    event_end_time: datetime | None = None
    expire_time: datetime | None = None
    pinned: bool = False


class Memory(NewMemory):
    """A memory as stored.

    `content_omitted` says that the answer would have been over 3 MiB: fetch the content with `memories.get`.
    `revision` is 1 on creation and one more with each change. Times are UTC.
    """

    memory_id: str
    store_id: str
    revision: int
    create_time: datetime
    update_time: datetime
    delete_time: datetime | None = None
    has_embedding: bool = False
    embedding_model: str = ""
    content_omitted: bool = False


class MemoryChanges(Model):
    """The new values of some fields of a memory: exactly the fields that are given are changed.

    `MemoryChanges(title="")` clears the title; `MemoryChanges(expire_time=None)` makes the memory stay for
    good.
    """

    content: str = ""
    title: str = ""
    description: str = ""
    agent_id: str = ""
    visibility: Visibility = Visibility.PRIVATE
    metadata: Metadata = Field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    tags: tuple[str, ...] = ()
    details: Details | None = None
    source: MemorySource = MemorySource.AGENT
    event_time: datetime | None = None
    event_end_time: datetime | None = None
    expire_time: datetime | None = None
    pinned: bool = False


class MemoryRevision(Model):
    """A full copy of a memory as one change left it.

    It goes at `expire_time` (None: never); the memory as it is stays. `labels` are those of the call that made the
    change, `extracted_memories` what turns or given facts said, where these made it.
    """

    memory: Memory
    revision_time: datetime
    action: RevisionAction
    expire_time: datetime | None = None
    labels: Mapping[str, str] = Field(default_factory=dict)
    extracted_memories: tuple[str, ...] = ()


class RevisionOptions(Model):
    """How a change is kept as a revision. `labels` (at most 64) are to find it by.

    At most one of the others: it goes at `expire_time`, or after `ttl` (zero: with its memory); or is not kept at all
    (`disabled`; False: also kept where the store keeps none). None of them: as the store says.
    """

    labels: Mapping[str, str] = Field(default_factory=dict)
    expire_time: datetime | None = None
    ttl: timedelta | None = None
    disabled: bool | None = None


class DeletedMemories(Model):
    """How many memories matched that the caller may write, and how many of them were deleted."""

    matching: int
    deleted: int = 0


class Domain(Model):
    """A domain of the vocabulary, and how many terms it has."""

    name: str
    term_count: int


class ProfileField(Model):
    """A value of a profile, and the memory that holds it."""

    value: Any
    memory_id: str
    revision: int
    update_time: datetime


class Profile(Model):
    """What is known of a scope by one schema: the fields that are known, by property."""

    schema_id: str
    fields: Mapping[str, ProfileField] = Field(default_factory=dict)

    @property
    def profile(self) -> dict[str, Any]:
        """The values alone."""
        return {name: field.value for name, field in self.fields.items()}


class PutResult(Model):
    """What an upsert stored, and whether it is new."""

    memory: Memory
    created: bool


class ItemError(Model):
    """Why one item of a batch was refused; `code` is a gRPC name such as "INVALID_ARGUMENT"."""

    code: str
    reason: str
    field: str
    message: str


class MemoryResult(Model):
    """What became of one item of a batch: the memory as stored, or the error."""

    memory: Memory | None = None
    error: ItemError | None = None
