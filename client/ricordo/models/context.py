"""One block of context for the next prompt."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from ricordo.models.base import ContextFormat, ContextSource, LeftOutCause, Model, SearchMode
from ricordo.models.filter import Filter
from ricordo.models.memory import Memory
from ricordo.models.turn import Turn


class SourceSpec(Model):
    """How one source is asked, for `top_k` candidates (1 to 200; None: the project's default, else 20).

    `custom_types` goes with `custom` only.
    """

    source: ContextSource
    mode: SearchMode = SearchMode.SEMANTIC
    metadata_filter: Filter | Mapping[str, Any] | None = None
    top_k: int | None = Field(default=None, ge=1, le=200)
    custom_types: tuple[str, ...] = ()


class SourceOutcome(Model):
    """How one source fared.

    An `effective_mode` other than `requested_mode` means that it was degraded; None, that it failed: then `error`
    says why, and `retryable` whether the same call may succeed later.
    """

    source: ContextSource
    requested_mode: SearchMode
    effective_mode: SearchMode | None = None
    count: int = 0
    error: str | None = None
    retryable: bool = False

    def __getitem__(self, name: str) -> Any:
        """The field of that name: agent-engine memory answers outcomes as dicts."""
        if name not in type(self).model_fields:
            raise KeyError(name)
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        """The field of that name, else the default."""
        return self[name] if name in type(self).model_fields else default


class ContextMessage(Model):
    """One chat message: role "system", "user" or "assistant"."""

    role: str
    content: str


class ContextChunk(Model):
    """What was selected: a memory, or a turn of the source `stm`. Scores compare across sources.

    `rerank_score` is the reranker's, which ordered it; None where none has scored it.
    """

    source: ContextSource
    item: Memory | Turn
    score: float
    token_count: int
    rerank_score: float | None = None


class LeftOut(Model):
    """A candidate that is not in the context, and why; `duplicate_of` names what it repeats."""

    source: ContextSource
    item_id: str
    cause: LeftOutCause
    duplicate_of: str = ""


class Context(Model):
    """A rendered context.

    `text` holds it in the formats `claude`, `markdown` and `jinja2`, `messages` in `openai`. `token_count` is that of
    the rendered context, by `tokenizer`. `timings` are seconds of each stage ("embed", "retrieve", "rank",
    "rerank", "render"). `ranking_strategy` is "reciprocal_rank", "rerank:<model>", or, where reranking was asked
    for and did not happen, "reciprocal_rank;rerank=<cause>" with "not_configured", "timeout", "failed" or
    "unavailable" (it failed again and again just now, and is left alone for a while).
    `chunks` come with `include_memories`, `left_out` with `explain`.
    """

    text: str = ""
    format: ContextFormat = ContextFormat.MARKDOWN
    messages: tuple[ContextMessage, ...] = ()
    chunks: tuple[ContextChunk, ...] = ()
    token_count: int = 0
    tokenizer: str = ""
    source_counts: dict[ContextSource, int] = Field(default_factory=dict)
    timings: dict[str, float] = Field(default_factory=dict)
    ranking_strategy: str = ""
    source_outcomes: tuple[SourceOutcome, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
