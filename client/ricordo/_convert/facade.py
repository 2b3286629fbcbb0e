"""The facade's arguments, checked and turned into those of the client."""

import json
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ricordo._convert import enums
from ricordo.errors import MemoryClientError
from ricordo.filters import MEMORY_FIELDS, Filter, FilterInput, all_of, field, parse
from ricordo.identity import first_given
from ricordo.models import ContextFormat, ContextSource, Matching, MemoryRequestContext, SourceSpec, ToolCall

DEFAULT_SOURCES = (ContextSource.SEMANTIC, ContextSource.EPISODIC)
CONTEXT_CANDIDATES = 50


@dataclass(frozen=True)
class SourceSearch:
    """The search of one source, with the conditions that concern it."""

    source: ContextSource
    scope: Matching | None
    filters: Filter | None = None
    min_similarity: float | None = None


def plan_searches(
    sources: ContextSource | str | Iterable[ContextSource | str] | None,
    who: MemoryRequestContext,
    *,
    domain: str | None,
    tags: Sequence[str] | None,
    similarity_threshold: float,
    metadata_filter: FilterInput | None,
) -> list[SourceSearch]:
    """One search for each source; each gets only the conditions that concern it.

    Raises:
        MemoryClientError: No such source, or `stm`, which `client.sessions.search_turns` searches.
    """
    searches = {
        ContextSource.EPISODIC: SourceSearch(ContextSource.EPISODIC, matching(who, session=True)),
        ContextSource.TAXONOMIC: SourceSearch(
            ContextSource.TAXONOMIC, matching(who), filters=_in_domain(domain)
        ),
        ContextSource.PROCEDURAL: SourceSearch(
            ContextSource.PROCEDURAL,
            matching(who),
            filters=_with_tags(tags or (), parse(metadata_filter, MEMORY_FIELDS)),
            min_similarity=similarity_threshold or None,
        ),
    }
    return [searches.get(source) or SourceSearch(source, matching(who)) for source in _searchable(sources)]


def matching(who: MemoryRequestContext, *, session: bool = False) -> Matching | None:
    """The rows of that user, and of that session if asked; None: unconstrained."""
    session_id = who.session_id if session else None
    if not who.user_id and not session_id:
        return None
    return Matching(user_id=who.user_id or "", session_id=session_id or "")


def specs_of(sources: Collection[str] | None, metadata_filter: FilterInput | None) -> list[SourceSpec]:
    """A spec of each source of `build_context`; none given: episodic and semantic."""
    return [
        SourceSpec(
            source=enums.CONTEXT_SOURCE.word(source),
            metadata_filter=metadata_filter,
            top_k=CONTEXT_CANDIDATES,
        )
        for source in sorted(sources or DEFAULT_SOURCES)
    ]


def check_specs(sources: Sequence[SourceSpec]) -> Sequence[SourceSpec]:
    """The specs, when there is at least one and no source is twice in them.

    Raises:
        MemoryClientError: They are not.
    """
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


def style_of(format_style: ContextFormat | str | None) -> ContextFormat:
    """How to render; None: Markdown.

    Raises:
        MemoryClientError: No such style.
    """
    return ContextFormat.MARKDOWN if format_style is None else enums.CONTEXT_FORMAT.word(format_style)


def session_of(session_id: str | None, thread_id: str | None) -> str | None:
    """The session of a call; `thread_id` is its older name."""
    if thread_id is not None:
        warnings.warn("thread_id is deprecated: write session_id", DeprecationWarning, stacklevel=3)
    return first_given(session_id, thread_id)


def tool_calls_of(calls: Iterable[Mapping[str, Any]] | None) -> tuple[ToolCall, ...]:
    """Tool calls as model providers write them: flat, or with their name and arguments under "function".

    Raises:
        MemoryClientError: One has no name.
    """
    return tuple(_tool_call(call) for call in calls or ())


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call.get("function", call)
    arguments = function.get("arguments", function.get("input", ""))
    if not function.get("name"):
        raise MemoryClientError(f"a tool call without a name: {dict(call)!r}")
    return ToolCall(
        tool_call_id=call.get("id") or call.get("tool_call_id") or "",
        name=function["name"],
        arguments_json=arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
    )


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


def _in_domain(domain: str | None) -> Filter | None:
    """The key of a taxonomic memory is the canonical JSON of [domain, term]."""
    if domain is None:
        return None
    return field("key").prefix(f"[{json.dumps(domain, ensure_ascii=False)},")


def _with_tags(tags: Sequence[str], condition: Filter | None) -> Filter | None:
    parts = [*([condition] if condition else []), *(field("tags").has(tag) for tag in tags)]
    return all_of(*parts) if parts else None
