"""Context requests and answers."""

from collections.abc import Sequence
from typing import Any

from ricordo.v1 import context_pb2, search_pb2
from ricordo.v1 import context_service_pb2 as pb
from ricordo_server.domain.context import (
    DEFAULT_SOURCES,
    BuiltContext,
    Chunk,
    ContextFormat,
    ContextRequest,
    ContextSource,
    LeftOut,
    SourceOutcome,
    SourceSpec,
)
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.filter_fields import MEMORY_FIELDS, TURN_FIELDS
from ricordo_server.domain.limits import (
    DEFAULT_CONTEXT_TOP_K,
    MAX_CONTEXT_TOKENS,
    MAX_QUERY_BYTES,
)
from ricordo_server.domain.search import SearchMode
from ricordo_server.domain.session import Turn
from ricordo_server.rpc.checks import check_range, check_text, check_type_names
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.filters import decode_condition
from ricordo_server.rpc.convert.memories import encode_memory
from ricordo_server.rpc.convert.scope import decode_scope_filter, decode_visibility
from ricordo_server.rpc.convert.search import decode_mode, decode_top_k
from ricordo_server.rpc.convert.turns import encode_turn


def decode_request(message: pb.BuildContextRequest) -> ContextRequest:
    query = check_text("query", message.query, limit=MAX_QUERY_BYTES)
    if not query.strip():
        raise DomainError(Reason.EMPTY_QUERY, "a context needs a query: say what it is for", "query")
    return ContextRequest(
        query=query,
        sources=_decode_sources(message.sources),
        scope=decode_scope_filter(message.scope),
        visibility=decode_visibility(message.visibility),
        max_tokens=_decode_max_tokens(message),
        format=decode_enum(message.format, context_pb2.ContextFormat.DESCRIPTOR, ContextFormat, "format"),
        rerank=message.rerank,
    )


def _decode_max_tokens(message: pb.BuildContextRequest) -> int | None:
    if not message.HasField("max_tokens"):
        return None
    return check_range("max_tokens", message.max_tokens, 1, MAX_CONTEXT_TOKENS)


def _decode_sources(messages: Sequence[pb.ContextSourceSpec]) -> list[SourceSpec]:
    specs = [_decode_source(message, f"sources[{number}]") for number, message in enumerate(messages)]
    seen: set[ContextSource] = set()
    for number, spec in enumerate(specs):
        if spec.source in seen:
            raise invalid_field(
                f"sources[{number}].source", f"{spec.source} is asked twice: ask each source once"
            )
        seen.add(spec.source)
    return specs or [SourceSpec(source) for source in DEFAULT_SOURCES]


def _decode_source(message: pb.ContextSourceSpec, field: str) -> SourceSpec:
    source = decode_enum(message.source, pb.ContextSource.DESCRIPTOR, ContextSource, f"{field}.source")
    if source is None:
        raise invalid_field(f"{field}.source", f"source is required; accepted: {', '.join(ContextSource)}")
    if message.custom_types and source is not ContextSource.CUSTOM:
        raise invalid_field(f"{field}.custom_types", "custom_types go with source CUSTOM only")
    fields = TURN_FIELDS if source is ContextSource.TURNS else MEMORY_FIELDS
    return SourceSpec(
        source=source,
        mode=decode_mode(message.mode, f"{field}.mode") or SearchMode.HYBRID,
        top_k=decode_top_k(message, field, DEFAULT_CONTEXT_TOP_K) if message.HasField("top_k") else None,
        filter=decode_condition(message, fields, f"{field}."),
        custom_types=check_type_names(f"{field}.custom_types", message.custom_types),
    )


def encode_context(built: BuiltContext, request: pb.BuildContextRequest) -> pb.BuildContextResponse:
    return pb.BuildContextResponse(
        text=built.text,
        format=encode_enum(built.format, context_pb2.ContextFormat.DESCRIPTOR),
        messages=[
            pb.ContextMessage(role=message.role, content=message.content) for message in built.messages
        ],
        chunks=[_encode_chunk(chunk) for chunk in built.chunks] if request.include_memories else (),
        token_count=built.token_count,
        tokenizer=built.tokenizer,
        source_counts={source.lower(): count for source, count in built.source_counts.items()},
        timings=built.timings,
        ranking_strategy=built.ranking_strategy,
        source_outcomes=[_encode_outcome(outcome) for outcome in built.outcomes],
        left_out=[_encode_left_out(left) for left in built.left_out] if request.explain else (),
    )


def _encode_chunk(chunk: Chunk) -> pb.ContextChunk:
    message = pb.ContextChunk(
        source=_encode_source(chunk.source),
        score=chunk.score,
        token_count=chunk.token_count,
        rerank_score=chunk.rerank_score,
    )
    if isinstance(chunk.item, Turn):
        message.turn.CopyFrom(encode_turn(chunk.item))
    else:
        message.memory.CopyFrom(encode_memory(chunk.item))
    return message


def _encode_outcome(outcome: SourceOutcome) -> pb.SourceOutcome:
    mode = search_pb2.SearchMode.DESCRIPTOR
    effective_mode: Any = encode_enum(outcome.effective_mode, mode) if outcome.effective_mode else None
    return pb.SourceOutcome(
        source=_encode_source(outcome.source),
        requested_mode=encode_enum(outcome.requested_mode, mode),
        effective_mode=effective_mode,
        count=outcome.count,
        error=outcome.error,
        retryable=outcome.retryable,
    )


def _encode_left_out(left: LeftOut) -> pb.LeftOut:
    return pb.LeftOut(
        source=_encode_source(left.source),
        item_id=left.item_id,
        cause=encode_enum(left.cause, pb.LeftOutCause.DESCRIPTOR),
        duplicate_of=left.duplicate_of,
    )


def _encode_source(source: ContextSource) -> Any:
    return encode_enum(source, pb.ContextSource.DESCRIPTOR)
