"""What a search asks, and what it finds."""

from collections.abc import Sequence
from typing import TypedDict

from ricordo import models
from ricordo._convert import enums, memories, turns
from ricordo._convert.sendable import sendable
from ricordo.v1 import memory_service_pb2, search_pb2, session_service_pb2


class HitFields(TypedDict):
    """The fields of `models.search.Hit`."""

    score: float
    distance: float | None
    legs: models.LegScores | None
    embedding: tuple[float, ...] | None


@sendable
def encode_options(
    query: str,
    *,
    query_embedding: Sequence[float],
    mode: models.SearchMode | str,
    fusion: models.FusionMethod | str | None,
    semantic_weight: float | None,
    top_k: int | None,
    min_similarity: float | None,
    explain: bool,
) -> search_pb2.SearchOptions:
    """Encodes what to look for, and how."""
    return search_pb2.SearchOptions(
        query=query,
        query_embedding=query_embedding,
        mode=enums.SEARCH_MODE.encode(mode),
        fusion=search_pb2.Fusion(method=enums.FUSION_METHOD.encode(fusion), semantic_weight=semantic_weight),
        top_k=top_k,
        min_similarity=min_similarity,
        explain=explain,
    )


def decode_memory_hits(
    reply: memory_service_pb2.SearchMemoriesResponse,
) -> models.SearchResult[models.MemoryHit]:
    """Decodes what a search of memories found."""
    hits = tuple(
        models.MemoryHit(memory=memories.decode_memory(hit.memory), **_fields(hit)) for hit in reply.hits
    )
    return models.SearchResult(hits=hits, report=_decode_report(reply.report))


def decode_turn_hits(reply: session_service_pb2.SearchTurnsResponse) -> models.SearchResult[models.TurnHit]:
    """Decodes what a search of turns found."""
    hits = tuple(models.TurnHit(turn=turns.decode_turn(hit.turn), **_fields(hit)) for hit in reply.hits)
    return models.SearchResult(hits=hits, report=_decode_report(reply.report))


def _fields(hit: memory_service_pb2.MemoryHit | session_service_pb2.TurnHit) -> HitFields:
    return HitFields(
        score=hit.score,
        distance=hit.distance if hit.HasField("distance") else None,
        legs=_decode_legs(hit.legs) if hit.HasField("legs") else None,
        embedding=tuple(hit.embedding) or None,
    )


def _decode_legs(legs: search_pb2.LegScores) -> models.LegScores:
    return models.LegScores(
        text_rank=legs.text_rank if legs.HasField("text_rank") else None,
        text_score=legs.text_score if legs.HasField("text_score") else None,
        semantic_rank=legs.semantic_rank if legs.HasField("semantic_rank") else None,
        semantic_score=legs.semantic_score if legs.HasField("semantic_score") else None,
    )


def _decode_report(report: search_pb2.SearchReport) -> models.SearchReport:
    return models.SearchReport(
        effective_mode=enums.SEARCH_MODE.decode(report.effective_mode),
        degraded_reason=report.degraded_reason,
        exact=report.exact,
    )
