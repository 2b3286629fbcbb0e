"""One block of context for the next prompt: where it comes from and what it is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ricordo_server.domain.filter import Filter
from ricordo_server.domain.memory import Memory
from ricordo_server.domain.scope import EVERY_SCOPE, ScopeFilter, Visibility
from ricordo_server.domain.search import SearchMode
from ricordo_server.domain.session import Turn


class ContextSource(StrEnum):
    TURNS = "TURNS"
    SEMANTIC = "SEMANTIC"
    EPISODIC = "EPISODIC"
    PROCEDURAL = "PROCEDURAL"
    TAXONOMIC = "TAXONOMIC"
    DOCUMENT = "DOCUMENT"
    PROFILE = "PROFILE"
    CUSTOM = "CUSTOM"


DEFAULT_SOURCES = (ContextSource.EPISODIC, ContextSource.SEMANTIC)


class ContextFormat(StrEnum):
    OPENAI = "OPENAI"
    CLAUDE = "CLAUDE"
    MARKDOWN = "MARKDOWN"
    JINJA2 = "JINJA2"


class LeftOutCause(StrEnum):
    DUPLICATE = "DUPLICATE"
    BUDGET = "BUDGET"


@dataclass(frozen=True)
class SourceSpec:
    """How to look in one source; `custom_types` with CUSTOM only. Without `top_k` the project's default holds."""

    source: ContextSource
    mode: SearchMode = SearchMode.HYBRID
    top_k: int | None = None
    filter: Filter | None = None
    custom_types: Sequence[str] = ()


@dataclass(frozen=True)
class ContextRequest:
    """What a context is asked for; `max_tokens` is the gross budget. None: the project's default.

    `template` is that of JINJA2: the project's own, else the one that ships.
    """

    query: str
    sources: Sequence[SourceSpec]
    scope: ScopeFilter = EVERY_SCOPE
    visibility: Visibility | None = None
    max_tokens: int | None = None
    format: ContextFormat | None = None
    rerank: bool = False
    template: str | None = None


@dataclass(frozen=True)
class Chunk:
    """A candidate for the context. `score` ranks it across sources; `token_count` is set once it is selected.

    `rerank_score` is the reranker's, which then orders instead; None where none has scored it. `embedding` serves
    the search for near-duplicates: all of one model, None where there is none.
    """

    source: ContextSource
    item: Memory | Turn
    score: float = 0.0
    embedding: Sequence[float] | None = None
    token_count: int = 0
    rerank_score: float | None = None

    @property
    def item_id(self) -> str:
        return self.item.turn_id if isinstance(self.item, Turn) else self.item.memory_id


@dataclass(frozen=True)
class ContextMessage:
    """A chat message; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True)
class Rendering:
    """A context, or one chunk of it, as the caller's model reads it: text, or chat messages."""

    text: str = ""
    messages: Sequence[ContextMessage] = ()


@dataclass(frozen=True)
class SourceOutcome:
    """`effective_mode` is None when the source failed; `error` is empty when it did not."""

    source: ContextSource
    requested_mode: SearchMode
    effective_mode: SearchMode | None
    count: int = 0
    error: str = ""
    retryable: bool = False


@dataclass(frozen=True)
class LeftOut:
    """`duplicate_of` is the id of the better-ranked item that this one repeats."""

    source: ContextSource
    item_id: str
    cause: LeftOutCause
    duplicate_of: str = ""


@dataclass(frozen=True)
class BuiltContext:
    """`chunks` are the selected ones, best first; `token_count` counts the rendering, without the reserve.

    `timings` are seconds by stage: "embed", "retrieve", "rank", "rerank" (where it was asked for), "render".
    """

    rendering: Rendering
    format: ContextFormat
    chunks: Sequence[Chunk]
    token_count: int
    tokenizer: str
    ranking_strategy: str
    outcomes: Sequence[SourceOutcome]
    left_out: Sequence[LeftOut] = ()
    source_counts: Mapping[ContextSource, int] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.rendering.text

    @property
    def messages(self) -> Sequence[ContextMessage]:
        return self.rendering.messages
