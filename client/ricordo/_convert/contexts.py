"""The request and the reply of ContextService."""

from collections.abc import Collection, Iterable

from ricordo import models
from ricordo._convert import enums, memories, scopes, turns
from ricordo._convert.filters import encode_condition
from ricordo._convert.sendable import sendable
from ricordo.filters import MEMORY_FIELDS, TURN_FIELDS
from ricordo.v1 import context_service_pb2 as pb


@sendable
def build_request(
    query: str,
    *,
    sources: Iterable[models.SourceSpec],
    scope: models.ScopeFilter | None,
    visibility: models.Visibility | str | None,
    max_tokens: int | None,
    format_style: models.ContextFormat | str | None,
    include_memories: bool,
    explain: bool,
    rerank: bool,
    store: str | None,
) -> pb.BuildContextRequest:
    """Asks for one block of context."""
    return pb.BuildContextRequest(
        store_id=store or "",
        query=query,
        sources=[_encode_source(source) for source in sources],
        scope=scopes.encode_scope_filter(scope),
        visibility=enums.VISIBILITY.encode(visibility),
        max_tokens=max_tokens,
        format=enums.CONTEXT_FORMAT.encode(format_style),
        include_memories=include_memories,
        explain=explain,
        rerank=rerank,
    )


def _encode_source(spec: models.SourceSpec) -> pb.ContextSourceSpec:
    accepted = TURN_FIELDS if spec.source is models.ContextSource.STM else MEMORY_FIELDS
    return pb.ContextSourceSpec(
        source=enums.CONTEXT_SOURCE.encode(spec.source),
        mode=enums.SEARCH_MODE.encode(spec.mode),
        top_k=spec.top_k,
        **encode_condition(spec.metadata_filter, accepted),
        custom_types=spec.custom_types,
    )


def decode_context(reply: pb.BuildContextResponse) -> models.Context:
    """Decodes a rendered context."""
    return models.Context(
        text=reply.text,
        format=enums.CONTEXT_FORMAT.decode(reply.format),
        messages=tuple(models.ContextMessage(role=one.role, content=one.content) for one in reply.messages),
        chunks=tuple(_decode_chunk(chunk) for chunk in reply.chunks),
        token_count=reply.token_count,
        tokenizer=reply.tokenizer,
        source_counts=_decode_counts(reply.source_counts.items()),
        timings=dict(reply.timings),
        ranking_strategy=reply.ranking_strategy,
        source_outcomes=tuple(_decode_outcome(outcome) for outcome in reply.source_outcomes),
        left_out=tuple(_decode_left_out(one) for one in reply.left_out),
    )


def _decode_counts(counts: Collection[tuple[str, int]]) -> dict[models.ContextSource, int]:
    return {enums.CONTEXT_SOURCE.word(name): count for name, count in counts}


def _decode_chunk(chunk: pb.ContextChunk) -> models.ContextChunk:
    return models.ContextChunk(
        source=enums.CONTEXT_SOURCE.decode(chunk.source),
        item=turns.decode_turn(chunk.turn)
        if chunk.HasField("turn")
        else memories.decode_memory(chunk.memory),
        score=chunk.score,
        token_count=chunk.token_count,
        rerank_score=chunk.rerank_score if chunk.HasField("rerank_score") else None,
    )


def _decode_outcome(outcome: pb.SourceOutcome) -> models.SourceOutcome:
    return models.SourceOutcome(
        source=enums.CONTEXT_SOURCE.decode(outcome.source),
        requested_mode=enums.SEARCH_MODE.decode(outcome.requested_mode),
        effective_mode=enums.SEARCH_MODE.decode(outcome.effective_mode) if outcome.effective_mode else None,
        count=outcome.count,
        error=outcome.error or None,
        retryable=outcome.retryable,
    )


def _decode_left_out(left_out: pb.LeftOut) -> models.LeftOut:
    return models.LeftOut(
        source=enums.CONTEXT_SOURCE.decode(left_out.source),
        item_id=left_out.item_id,
        cause=enums.LEFT_OUT_CAUSE.decode(left_out.cause),
        duplicate_of=left_out.duplicate_of,
    )
