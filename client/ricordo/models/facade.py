"""What the `Memory` facade takes and returns: the shapes of agent-engine memory."""

from datetime import datetime

from pydantic import Field

from ricordo.models.base import ContextSource, MemorySource, Metadata, Model
from ricordo.models.context import LeftOut, SourceOutcome


class MemoryRequestContext(Model):
    """Who a call is for. None, blank and whitespace mean "unset"."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


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
    """A rendered context: chat messages for `openai`, text otherwise. `left_out` comes with `explain`."""

    formatted_context: str | list[dict[str, str]]
    metadata: ContextMetadata
    selected_memories: list[MemoryChunk] | None = None
    left_out: list[LeftOut] | None = None


class MemoryOrigin(Model):
    """Why a memory is there: who wrote it, in which session, and the turns it rests on, in order.

    `missing_turn_ids` are those that are gone or that this credential may not see; `extraction_model` is empty for
    what was written by hand.
    """

    id: str
    content: str
    source: MemorySource
    agent_id: str = ""
    session_id: str = ""
    extraction_model: str = ""
    turns: list[MemoryChunk] = Field(default_factory=list)
    missing_turn_ids: list[str] = Field(default_factory=list)
