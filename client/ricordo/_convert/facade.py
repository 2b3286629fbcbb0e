"""The facade's arguments, checked and turned into those of the client."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ricordo._convert import enums
from ricordo._convert.readings import Reading
from ricordo._deprecations import warn_deprecated
from ricordo.errors import MemoryClientError
from ricordo.filters import MEMORY_FIELDS, Filter, FilterInput, all_of, field, parse
from ricordo.identity import first_given
from ricordo.models import (
    ContextFormat,
    ContextSource,
    MemorySource,
    RecordedTurn,
    ScopeFilter,
    SourceSpec,
    TaxonomicDetails,
    ToolCall,
    Visibility,
    WriteTurnResult,
)

DEFAULT_SOURCES = (ContextSource.SEMANTIC, ContextSource.EPISODIC)
CONTEXT_CANDIDATES = 50


@dataclass(frozen=True)
class SourceSearch:
    """The search of one source, with the conditions that concern it."""

    source: ContextSource
    scope: ScopeFilter | None
    filters: Filter | None = None
    min_similarity: float | None = None


def plan_searches(
    sources: ContextSource | str | Iterable[ContextSource | str] | None,
    reading: Reading,
    *,
    domain: str | None,
    tags: Sequence[str] | None,
    similarity_threshold: float,
    metadata_filter: FilterInput | None,
) -> list[SourceSearch]:
    """One search for each source; each gets the filter, and only those other conditions that concern it.

    Raises:
        MemoryClientError: No such source, or `stm`, which `client.sessions.search_turns` searches; or a condition
            that concerns none of the sources.
    """
    chosen = _searchable(sources)
    _check_concerned(chosen, ContextSource.TAXONOMIC, domain=domain)
    _check_concerned(
        chosen, ContextSource.PROCEDURAL, tags=tags, similarity_threshold=similarity_threshold or None
    )
    condition = parse(metadata_filter, MEMORY_FIELDS)
    of_source = {
        ContextSource.TAXONOMIC: in_domain(domain),
        ContextSource.PROCEDURAL: having_tags(tags),
    }
    return [
        SourceSearch(
            source,
            reading.scope(session=source is ContextSource.EPISODIC),
            join(condition, of_source.get(source)),
            similarity_threshold or None if source is ContextSource.PROCEDURAL else None,
        )
        for source in chosen
    ]


def specs_of(sources: Collection[str] | None, metadata_filter: FilterInput | None) -> list[SourceSpec]:
    """A spec of each source of `build_context`; none given: episodic and semantic."""
    return [
        SourceSpec(
            source=enums.CONTEXT_SOURCE.word(source),
            metadata_filter=metadata_filter,
            top_k=CONTEXT_CANDIDATES,
        )
        for source in sorted({sources} if isinstance(sources, str) else sources or DEFAULT_SOURCES)
    ]


def check_specs(sources: Sequence[SourceSpec]) -> Sequence[SourceSpec]:
    """The specs, when there is at least one and no source is twice in them.

    Raises:
        MemoryClientError: They are not.
    """
    for spec in sources:
        if not isinstance(spec, SourceSpec):
            raise MemoryClientError(f"{spec!r} is no SourceSpec: write SourceSpec(source=...)")
    names = [spec.source for spec in sources]
    if not names or len(set(names)) < len(names):
        raise MemoryClientError(f"give at least one source and each at most once, not {[*map(str, names)]}")
    return sources


def check_max_tokens(max_tokens: int | None) -> int | None:
    """The budget, when it is a whole number above 0.

    Raises:
        MemoryClientError: It is not.
    """
    if max_tokens is None:
        return None
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens <= 0:
        raise MemoryClientError(f"max_tokens is {max_tokens!r}: give a whole number above 0")
    return max_tokens


def style_of(format_style: ContextFormat | str | None) -> ContextFormat | None:
    """How to render; None: as the project does by default.

    Raises:
        MemoryClientError: No such style.
    """
    return None if format_style is None else enums.CONTEXT_FORMAT.word(format_style)


def session_of(session_id: str | None, thread_id: str | None) -> str | None:
    """The session of a call; `thread_id` is its older name."""
    if thread_id is not None:
        warn_deprecated("thread_id is deprecated: write session_id")
    return first_given(session_id, thread_id)


def tool_calls_of(calls: Iterable[Mapping[str, Any]] | None) -> tuple[ToolCall, ...]:
    """Tool calls as model providers write them: flat, or with their name and arguments under "function".

    Raises:
        MemoryClientError: One is no dict, has no name, or arguments that are no JSON.
    """
    return tuple(_tool_call(call) for call in calls or ())


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise MemoryClientError(f"{call!r} is no tool call: give a dict with a name, as model providers do")
    if not function.get("name"):
        raise MemoryClientError(f"a tool call without a name: {dict(call)!r}")
    return ToolCall(
        tool_call_id=call.get("id") or call.get("tool_call_id") or "",
        name=function["name"],
        arguments_json=_arguments_json(function.get("arguments", function.get("input", ""))),
    )


def _arguments_json(arguments: object) -> str:
    try:
        return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise MemoryClientError(f"the arguments of a tool call are no JSON: {error}") from error


def _searchable(sources: ContextSource | str | Iterable[ContextSource | str] | None) -> list[ContextSource]:
    if sources is None:
        return list(DEFAULT_SOURCES)
    words = [sources] if isinstance(sources, str) else list(sources)
    chosen = list(dict.fromkeys(enums.CONTEXT_SOURCE.word(word) for word in words))
    if not chosen:
        raise MemoryClientError("sources is empty: leave it out for semantic and episodic")
    if ContextSource.STM in chosen:
        raise MemoryClientError("search reads memories; turns are read by build_context_from_sources")
    return chosen


def _check_concerned(chosen: Collection[ContextSource], source: ContextSource, **conditions: object) -> None:
    for name, value in conditions.items():
        if value is not None and source not in chosen:
            raise MemoryClientError(
                f"{name} is a condition of the source {source}, which is not searched here"
            )


def in_domain(domain: str | None) -> Filter | None:
    """Terms of that domain: the key of a taxonomic memory is the canonical JSON of [domain, term]."""
    if domain is None:
        return None
    return field("key").prefix(f"[{json.dumps(domain, ensure_ascii=False)},")


def having_tags(tags: Sequence[str] | None) -> Filter | None:
    """Memories that have all of these tags."""
    if isinstance(tags, str):
        raise MemoryClientError(f"tags is the text {tags!r}: give a list")
    parts = [field("tags").has(tag) for tag in tags or ()]
    return all_of(*parts) if parts else None


def join(*conditions: Filter | None) -> Filter | None:
    """All of the conditions that are there."""
    parts = [condition for condition in conditions if condition is not None]
    return all_of(*parts) if parts else None


def key_of(key: str | TaxonomicDetails) -> str:
    """The natural key as it is stored."""
    if isinstance(key, str):
        return key
    return json.dumps([key.domain, key.term], ensure_ascii=False, separators=(",", ":"))


def require_text(value: str, name: str) -> str:
    """A natural key or an id, when it is text.

    Raises:
        MemoryClientError: It is blank.
    """
    if not first_given(value):
        raise MemoryClientError(f"{name} is blank")
    return value


def texts(given: Iterable[str] | None, name: str) -> tuple[str, ...] | None:
    """A list of text; None stays None.

    Raises:
        MemoryClientError: It is one text, which would be read letter by letter.
    """
    if isinstance(given, str):
        raise MemoryClientError(f"{name} is the text {given!r}: give a list")
    return None if given is None else tuple(given)


def pairs(given: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
    """Pairs of the caller's own; None stays None.

    Raises:
        MemoryClientError: It is no dict.
    """
    if given is not None and not isinstance(given, Mapping):
        raise MemoryClientError(f"{name} is {given!r}: give a dict")
    return None if given is None else dict(given)


def check_count(count: int, name: str) -> int:
    """A number of rows, when it is a whole number above 0.

    Raises:
        MemoryClientError: It is not.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
        raise MemoryClientError(f"{name} is {count!r}: give a whole number above 0")
    return count


def changes_of(
    *,
    visibility: Visibility | str | None = None,
    source: MemorySource | str | None = None,
    metadata: Mapping[str, Any] | None = None,
    **texts: object,
) -> dict[str, object]:
    """The fields that an update gives; None stands for those it does not.

    Raises:
        MemoryClientError: One is no word of its list.
    """
    return {
        "visibility": None if visibility is None else enums.VISIBILITY.word(visibility),
        "source": None if source is None else enums.MEMORY_SOURCE.word(source),
        "metadata": pairs(metadata, "metadata"),
        **texts,
    }


def turn_result(recorded: RecordedTurn) -> WriteTurnResult:
    """A recorded turn as the facade answers it."""
    turn = recorded.turn
    return WriteTurnResult(
        id=turn.turn_id,
        session_id=turn.scope.session_id,
        turn_seq=turn.turn_seq,
        has_embedding=turn.has_embedding,
    )
