"""What the `Memory` facade takes and returns: the shapes of agent-engine memory."""

from datetime import datetime

from pydantic import Field

from ricordo.models.base import ContextSource, Metadata, Model
from ricordo.models.context import SourceOutcome


class MemoryRequestContext(Model):
    """Who a call is for. None, blank and whitespace mean "unset"."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


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


class MemoryChunk(Model):
    """A piece of memory, whatever its source.

    `similarity_score` has the scale of the search mode and is not comparable across modes. `metadata` holds
    the platform's fields; your own are in its slot `metadata["metadata"]`, which is missing when there are
    none.
    """

    id: str
    content: str
    source: ContextSource
    timestamp: datetime
    embedding: list[float] | None = None
    similarity_score: float | None = None
    metadata: Metadata | None = None


class ContextMetadata(Model):
    """How a context was made. `timing` is in seconds; `token_count` is that of the rendered context."""

    token_count: int
    memory_counts: dict[ContextSource, int] = Field(default_factory=dict)
    timing: dict[str, float] = Field(default_factory=dict)
    ranking_strategy: str | None = None
    source_outcomes: list[SourceOutcome] = Field(default_factory=list)


class ContextResponse(Model):
    """A rendered context: chat messages for `openai`, text otherwise."""

    formatted_context: str | list[dict[str, str]]
    metadata: ContextMetadata
    selected_memories: list[MemoryChunk] | None = None
