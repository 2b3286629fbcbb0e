"""Search options, hits, reports."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

from ricordo.v1 import search_pb2
from ricordo_server.domain.errors import DomainError, Reason, invalid_field, over_limit
from ricordo_server.domain.limits import DEFAULT_TOP_K, MAX_QUERY_BYTES, MAX_QUERY_DIMENSIONS, MAX_TOP_K
from ricordo_server.domain.search import (
    DEFAULT_SEMANTIC_WEIGHT,
    Fusion,
    FusionMethod,
    Hit,
    LegScores,
    SearchMode,
    SearchOptions,
    SearchResult,
)
from ricordo_server.rpc.checks import check_range, check_text
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum

Item = TypeVar("Item")


def decode_mode(number: int, field: str) -> SearchMode | None:
    return decode_enum(number, search_pb2.SearchMode.DESCRIPTOR, SearchMode, field)


def decode_options(message: search_pb2.SearchOptions, field: str = "options") -> SearchOptions:
    query = check_text(f"{field}.query", message.query, limit=MAX_QUERY_BYTES)
    embedding = _decode_embedding(message, f"{field}.query_embedding")
    mode = decode_mode(message.mode, f"{field}.mode") or SearchMode.HYBRID
    if not query.strip() and (embedding is None or mode is SearchMode.TEXT):
        advice = "a search needs query text" + ("" if mode is SearchMode.TEXT else " or a query_embedding")
        raise DomainError(Reason.EMPTY_QUERY, advice, f"{field}.query")
    return SearchOptions(
        query=query if query.strip() else "",
        query_embedding=embedding,
        mode=mode,
        fusion=_decode_fusion(message.fusion, f"{field}.fusion"),
        top_k=decode_top_k(message, field, DEFAULT_TOP_K),
        min_similarity=_decode_min_similarity(message, mode, f"{field}.min_similarity"),
        explain=message.explain,
    )


def decode_top_k(message: Any, field: str, default: int) -> int:
    return (
        check_range(f"{field}.top_k", message.top_k, 1, MAX_TOP_K) if message.HasField("top_k") else default
    )


def _decode_embedding(message: search_pb2.SearchOptions, field: str) -> list[float] | None:
    values = list(message.query_embedding)
    if len(values) > MAX_QUERY_DIMENSIONS:
        raise over_limit(field, "dimensions", MAX_QUERY_DIMENSIONS, len(values))
    return values or None


def _decode_fusion(message: search_pb2.Fusion, field: str) -> Fusion:
    method = decode_enum(message.method, search_pb2.FusionMethod.DESCRIPTOR, FusionMethod, f"{field}.method")
    weight = message.semantic_weight if message.HasField("semantic_weight") else DEFAULT_SEMANTIC_WEIGHT
    if not 0 <= weight <= 1:  # NaN compares false
        raise invalid_field(f"{field}.semantic_weight", f"semantic_weight is {weight}: give 0 to 1")
    return Fusion(method or FusionMethod.CONVEX, weight)


def _decode_min_similarity(message: search_pb2.SearchOptions, mode: SearchMode, field: str) -> float | None:
    if not message.HasField("min_similarity"):
        return None
    if mode is SearchMode.TEXT:
        raise invalid_field(field, "min_similarity is a cosine, which TEXT mode has not: leave it out")
    if math.isnan(message.min_similarity) or not -1 <= message.min_similarity <= 1:
        raise invalid_field(field, f"min_similarity is {message.min_similarity}: give -1 to 1")
    return message.min_similarity


def encode_hit(
    hit_type: Any, member: str, encode: Callable[[Item], Any], hit: Hit[Item], *, explain: bool
) -> Any:
    """A MemoryHit or TurnHit: the same but for the member that holds the item."""
    message = hit_type(score=hit.score, distance=hit.distance, embedding=hit.embedding or ())
    getattr(message, member).CopyFrom(encode(hit.item))
    if explain:
        message.legs.CopyFrom(encode_legs(hit.legs))
    return message


def encode_legs(legs: LegScores) -> search_pb2.LegScores:
    return search_pb2.LegScores(**vars(legs))


def encode_report(result: SearchResult[Any], requested: SearchMode) -> search_pb2.SearchReport:
    return search_pb2.SearchReport(
        effective_mode=encode_enum(result.effective_mode, search_pb2.SearchMode.DESCRIPTOR),
        degraded_reason=result.degraded_reason or _why_other_mode(requested, result.effective_mode),
        exact=result.exact,
    )


def _why_other_mode(requested: SearchMode, effective: SearchMode) -> str:
    """HYBRID falls to TEXT with a reason of the app's; to SEMANTIC when there are no words to look for."""
    if effective is requested:
        return ""
    return "there is no query text, only a query_embedding: give query text for the text leg"
