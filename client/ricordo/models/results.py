"""What the writes of the `Memory` facade answer: the shapes of agent-engine memory."""

from typing import TypeAlias

from pydantic import Field

from ricordo.models.base import Metadata, Model
from ricordo.models.memory import ItemError

TagScalar: TypeAlias = str | int | float | bool
"""What a tag of a custom memory may be."""


class WriteTurnResult(Model):
    """A recorded turn. `turn_seq` counts from 1 in its session."""

    id: str
    session_id: str
    turn_seq: int
    acknowledged: bool = True
    has_embedding: bool = False


class CreateSemanticResult(Model):
    """A saved fact."""

    id: str
    label: str
    has_embedding: bool = False
    acknowledged: bool = True


class CreateEpisodicResult(Model):
    """A saved episode."""

    id: str
    title: str
    has_embedding: bool = False
    acknowledged: bool = True


class CreateTaxonomicResult(Model):
    """A saved term."""

    id: str
    domain: str
    term: str
    has_embedding: bool = False
    acknowledged: bool = True


class CreateProceduralResult(Model):
    """A saved procedure."""

    id: str
    procedure: str
    has_embedding: bool = False
    acknowledged: bool = True


class SemanticFact(Model):
    """One fact of a batch: its text, its label, pairs of your own."""

    text: str
    label: str
    metadata: Metadata = Field(default_factory=dict)


class RefusedFact(Model):
    """A fact of a batch that was not stored, and why."""

    label: str
    error: ItemError


class BulkCreateSemanticResult(Model):
    """What became of a batch of facts.

    A taken label is skipped: the fact that has it stays. `refused` are those that the server did not accept.
    """

    created_count: int
    skipped_count: int
    created_ids: list[str]
    skipped_labels: list[str]
    refused: list[RefusedFact] = Field(default_factory=list)
    has_embeddings: bool = False
    acknowledged: bool = True


class DeleteResult(Model):
    """What was deleted."""

    deleted_count: int
    acknowledged: bool = True


class CustomMemorySaveResult(Model):
    """A saved memory of a custom type; `tags` have dotted names."""

    id: str
    type: str
    tags: dict[str, TagScalar]
    has_embedding: bool = False


class RetrievedCustomMemory(Model):
    """A memory of a custom type; `tags` have dotted names."""

    id: str
    type: str
    content: str
    tags: Metadata
    contextual_metadata: Metadata | None = None
    user_id: str | None = None
    agent_id: str | None = None


class CustomMemoryRetrieveResult(Model):
    """Memories of a custom type, best first."""

    results: list[RetrievedCustomMemory]
    count: int
