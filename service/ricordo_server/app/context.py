"""Context: several searches, one order, one budget, one text."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ricordo_server.app.declarations import check_custom_types
from ricordo_server.app.embeddings import QueryVector, embed_query, read_with_one_model
from ricordo_server.app.permissions import check_may_read_as
from ricordo_server.app.reranking import Ranking, rerank
from ricordo_server.app.search import Prepared, search
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store
from ricordo_server.db import memories as memories_db
from ricordo_server.db import turns as turns_db
from ricordo_server.domain.budget import Renderer, Selection, select
from ricordo_server.domain.call import Call
from ricordo_server.domain.context import (
    BuiltContext,
    Chunk,
    ContextFormat,
    ContextRequest,
    ContextSource,
    SourceOutcome,
    SourceSpec,
)
from ricordo_server.domain.declarations import check_declared_filter
from ricordo_server.domain.errors import RETRYABLE, DomainError, Reason
from ricordo_server.domain.limits import DEFAULT_CONTEXT_TOKENS, DEFAULT_CONTEXT_TOP_K
from ricordo_server.domain.memory import Memory, MemoryKind, MemoryQuery
from ricordo_server.domain.ranking import AnyHit, rank_together
from ricordo_server.domain.rendering import FormatRenderer
from ricordo_server.domain.scope import Matching, ReadableBy, ScopeFilter
from ricordo_server.domain.search import SearchMode, SearchOptions, SearchResult
from ricordo_server.domain.session import Turn, TurnQuery
from ricordo_server.domain.template_language import TemplateFault, limited_time
from ricordo_server.domain.templates import TemplateRenderer, default_template


@dataclass(frozen=True)
class EmbeddedQuery:
    """The query embedded once for all sources, or why it could not be."""

    embedded: QueryVector | None = None
    error: DomainError | None = None


async def build_context(
    services: Services, call: Call, store_id: str, request: ContextRequest
) -> BuiltContext:
    """One block of context.

    Raises:
        DomainError: TEMPLATE_FAILED; ALL_SOURCES_FAILED, or the one error that all sources share, when asking again
            is no use.
    """
    check_may_read_as(call.principal, request.scope)
    return await read_with_one_model(lambda: _build(services, call, store_id, request))


async def _build(services: Services, call: Call, store_id: str, request: ContextRequest) -> BuiltContext:
    """All sources are read by one model, so that near-duplicates among them can be told."""
    started = time.monotonic()
    request = await _settle(services, call, store_id, request)
    query = await _embed(services, call, request)
    embedded = time.monotonic()
    found, outcomes = await _retrieve(services, call, store_id, request, query)
    retrieved = time.monotonic()
    ranking = Ranking(rank_together(found))
    ranked = time.monotonic()
    if request.rerank:
        ranking = await rerank(services, call, request.query, ranking.chunks)
    ordered = time.monotonic()
    selection = await asyncio.to_thread(_select, services, request, ranking.chunks)
    return BuiltContext(
        rendering=selection.rendering,
        format=request.format or ContextFormat.MARKDOWN,
        chunks=selection.chunks,
        token_count=selection.token_count,
        tokenizer=services.tokens.name,
        ranking_strategy=ranking.strategy,
        outcomes=outcomes,
        left_out=[*ranking.left_out, *selection.left_out],
        source_counts=_counts(request.sources, selection.chunks),
        timings={
            "embed": embedded - started,
            "retrieve": retrieved - embedded,
            "rank": ranked - retrieved,
            **({"rerank": ordered - ranked} if request.rerank else {}),
            "render": time.monotonic() - ordered,
        },
    )


async def _settle(services: Services, call: Call, store_id: str, request: ContextRequest) -> ContextRequest:
    """The request with the project's defaults, refused as a whole when a source asks for what is not declared."""
    async with in_store(services.database, call, store_id) as connection:
        settings = connection.settings
    for number, spec in enumerate(request.sources):
        if spec.filter is not None:
            check_declared_filter(
                settings.of_types(spec.custom_types), spec.filter, f"sources[{number}].filter"
            )
        check_custom_types(settings, spec.custom_types, f"sources[{number}].custom_types")
    defaults = settings.context
    return replace(
        request,
        sources=[replace(spec, top_k=spec.top_k or defaults.top_k) for spec in request.sources],
        max_tokens=request.max_tokens or defaults.max_tokens,
        format=request.format or defaults.format,
        template=defaults.template,
    )


async def _embed(services: Services, call: Call, request: ContextRequest) -> EmbeddedQuery:
    if all(spec.mode is SearchMode.TEXT for spec in request.sources):
        return EmbeddedQuery()
    try:
        return EmbeddedQuery(await embed_query(services, call, request.query))
    except DomainError as error:
        return EmbeddedQuery(error=error)


async def _retrieve(
    services: Services, call: Call, store_id: str, request: ContextRequest, query: EmbeddedQuery
) -> tuple[Mapping[ContextSource, Sequence[AnyHit]], list[SourceOutcome]]:
    """All at once, each in a transaction of its own: a failing one leaves the others as they are."""

    async def ask(spec: SourceSpec) -> SearchResult[Memory] | SearchResult[Turn] | DomainError:
        try:
            return await _search_source(services, call, store_id, request, spec, query)
        except DomainError as error:
            return error

    found: dict[ContextSource, Sequence[AnyHit]] = {}
    outcomes: list[SourceOutcome] = []
    errors: list[DomainError] = []
    answers = await asyncio.gather(*map(ask, request.sources))
    for spec, answer in zip(request.sources, answers, strict=True):
        if isinstance(answer, DomainError):
            errors.append(answer)
            outcomes.append(_failed(spec, answer))
            continue
        found[spec.source] = answer.hits
        outcomes.append(SourceOutcome(spec.source, spec.mode, answer.effective_mode, len(answer.hits)))
    if not found:
        raise _all_failed(errors)
    return found, outcomes


def _failed(spec: SourceSpec, error: DomainError) -> SourceOutcome:
    return SourceOutcome(spec.source, spec.mode, None, error=str(error), retryable=error.reason in RETRYABLE)


def _all_failed(errors: Sequence[DomainError]) -> DomainError:
    """A store that is not there is no outage: what no repeat can mend is said as it is."""
    first = errors[0]
    if first.reason not in RETRYABLE and all(error.reason is first.reason for error in errors):
        return first
    causes = "; ".join(dict.fromkeys(error.message for error in errors))
    return DomainError(Reason.ALL_SOURCES_FAILED, f"every source failed: {causes}")


async def _search_source(
    services: Services,
    call: Call,
    store_id: str,
    request: ContextRequest,
    spec: SourceSpec,
    query: EmbeddedQuery,
) -> SearchResult[Memory] | SearchResult[Turn]:
    prepared = _prepare(request, spec, query)
    async with in_store(services.database, call, store_id) as connection:
        if spec.source is ContextSource.TURNS:
            turns = turns_db.searched(TurnQuery(request.scope, spec.filter))
            return await search(connection, turns, prepared, turns_db.get_turns, include_embedding=True)
        memories = await memories_db.narrowed(connection, _memory_query(request, spec))
        return await search(connection, memories, prepared, memories_db.get_memories, include_embedding=True)


def _prepare(request: ContextRequest, spec: SourceSpec, query: EmbeddedQuery) -> Prepared:
    options = SearchOptions(request.query, mode=spec.mode, top_k=spec.top_k or DEFAULT_CONTEXT_TOP_K)
    if query.error is None or spec.mode is SearchMode.TEXT:
        return Prepared(options, spec.mode, query.embedded)
    if spec.mode is SearchMode.SEMANTIC:
        raise query.error
    return Prepared(options, SearchMode.TEXT, None, query.error.message)


def _memory_query(request: ContextRequest, spec: SourceSpec) -> MemoryQuery:
    return MemoryQuery(
        scope=across_sessions(request.scope),
        visibility=request.visibility,
        kinds=[MemoryKind(spec.source)],
        custom_types=spec.custom_types,
        filter=spec.filter,
    )


def across_sessions(scope: ScopeFilter) -> ScopeFilter:
    """A session given beside others picks the turns; what was learned outlives it and has none in its scope."""
    if isinstance(scope, Matching) and scope.scope.session_id is not None:
        return Matching(replace(scope.scope, session_id=None))
    return replace(scope, session_id=None) if isinstance(scope, ReadableBy) else scope


def _select(services: Services, request: ContextRequest, ranked: Sequence[Chunk]) -> Selection:
    try:
        with limited_time():
            return select(
                ranked,
                _renderer(request),
                max_tokens=request.max_tokens or DEFAULT_CONTEXT_TOKENS,
                count=services.tokens.count,
            )
    except TemplateFault as fault:
        message = f"the project's template failed, {fault}: correct it, or ask for another format"
        raise DomainError(Reason.TEMPLATE_FAILED, message) from fault


def _renderer(request: ContextRequest) -> Renderer:
    if request.format is ContextFormat.JINJA2:
        return TemplateRenderer(request.template or default_template(), request.query)
    return FormatRenderer(request.format or ContextFormat.MARKDOWN)


def _counts(sources: Sequence[SourceSpec], chunks: Sequence[Chunk]) -> dict[ContextSource, int]:
    counts = {spec.source: 0 for spec in sources}
    for chunk in chunks:
        counts[chunk.source] += 1
    return counts
