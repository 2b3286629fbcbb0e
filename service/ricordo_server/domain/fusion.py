"""Fuses the two legs of a hybrid search into one order, best first. Equal input, equal order."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from ricordo_server.domain.search import Fusion, FusionMethod, LegScores

# Cormack, Clarke and Büttcher 2009 found 60 good on TREC runs, and the result barely sensitive to it.
RANK_CONSTANT = 60


@dataclass(frozen=True)
class Candidate:
    """A row that a leg found: `score` is raw (ts_rank, cosine similarity), larger is better.

    `beyond` the leg's cut, it was only looked up because the other leg found it: it has a score and no rank.
    """

    item_id: str
    score: float
    recency: datetime
    beyond: bool = False


@dataclass(frozen=True)
class Fused:
    item_id: str
    score: float
    legs: LegScores


Leg: TypeAlias = Mapping[str, Candidate]  # by id, best first


def fuse(
    text_leg: Sequence[Candidate], semantic_leg: Sequence[Candidate], fusion: Fusion, *, top_k: int
) -> list[Fused]:
    """score = (1 - w) * text + w * semantic, each scaled by the method; a leg that missed the row adds 0.

    Rows beyond the text leg's cut count by their score: without it a row that both legs know, one of them less well,
    would lose to a row that one leg alone knows (LoCoMo R@10 .630 instead of .646 with 50 candidates a leg).

    CONVEX as measured in benchmarks/README.md (Bruch, Gai and Ingber 2023 on scaled convex sums); RRF with
    the weights of the legs in place of 1.
    """
    text, semantic = _by_rank(text_leg), _by_rank(semantic_leg)
    text_scale, semantic_scale = _SCALES[fusion.method]
    text_part, semantic_part = text_scale(text), semantic_scale(semantic)
    weight = fusion.semantic_weight
    scored = [
        Candidate(
            item_id,
            (1 - weight) * text_part.get(item_id, 0.0) + weight * semantic_part.get(item_id, 0.0),
            candidate.recency,
        )
        for item_id, candidate in {**text, **semantic}.items()
    ]
    return _fused(scored, text, semantic, top_k)


def rank_text(text_leg: Sequence[Candidate], *, top_k: int) -> list[Fused]:
    """TEXT mode: the raw score is the score."""
    return _fused(text_leg, _by_rank(text_leg), {}, top_k)


def rank_semantic(semantic_leg: Sequence[Candidate], *, top_k: int) -> list[Fused]:
    """SEMANTIC mode: the cosine similarity is the score."""
    return _fused(semantic_leg, {}, _by_rank(semantic_leg), top_k)


def reciprocal_rank(rank: int) -> float:
    """1 / (60 + rank), ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    return 1 / (RANK_CONSTANT + rank)


def _fused(scored: Iterable[Candidate], text: Leg, semantic: Leg, top_k: int) -> list[Fused]:
    legs = _leg_scores(text, semantic)
    best = list(_by_rank(scored).values())[:top_k]
    return [Fused(candidate.item_id, candidate.score, legs[candidate.item_id]) for candidate in best]


def _leg_scores(text: Leg, semantic: Leg) -> dict[str, LegScores]:
    text_ranks, semantic_ranks = _ranks(text), _ranks(semantic)
    return {
        item_id: LegScores(
            text_rank=text_ranks.get(item_id),
            text_score=text[item_id].score if item_id in text else None,
            semantic_rank=semantic_ranks.get(item_id),
            semantic_score=semantic[item_id].score if item_id in semantic else None,
        )
        for item_id in {**text, **semantic}
    }


def _ranks(leg: Leg) -> dict[str, int]:
    """From 1; rows beyond the cut come last, and have none."""
    return {item_id: rank for rank, item_id in enumerate(leg, 1) if not leg[item_id].beyond}


def _by_rank(candidates: Iterable[Candidate]) -> Leg:
    """Best first; ties newer first, then by id. A row found twice (two of its chunks) counts at its best.

    A score that is no number (the cosine of a zero vector) has no place in an order: not found.
    """
    by_id = sorted((c for c in candidates if math.isfinite(c.score)), key=lambda c: c.item_id)
    ranked: dict[str, Candidate] = {}
    for candidate in sorted(by_id, key=lambda c: (c.score, c.recency), reverse=True):
        ranked.setdefault(candidate.item_id, candidate)
    return ranked


def _share_of_best(leg: Leg) -> dict[str, float]:
    """score / max: ts_rank has a true zero, so shares keep their meaning. No best above 0: all alike, 1."""
    best = max((c.score for c in leg.values()), default=0.0)
    return {item_id: max(c.score, 0.0) / best if best > 0 else 1.0 for item_id, c in leg.items()}


def _min_max(leg: Leg) -> dict[str, float]:
    """(score - min) / (max - min): cosines of one model crowd in a narrow band, which this spreads.

    A single candidate, or all alike, would be 0/0. The best of a leg always scales to 1, so they are 1:
    the leg found them and knows none better.
    """
    scores = [c.score for c in leg.values()]
    low, span = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    return {item_id: (c.score - low) / span if span > 0 else 1.0 for item_id, c in leg.items()}


def _reciprocal_ranks(leg: Leg) -> dict[str, float]:
    return {item_id: reciprocal_rank(rank) for item_id, rank in _ranks(leg).items()}


Scale: TypeAlias = Callable[[Leg], dict[str, float]]
_SCALES: Mapping[FusionMethod, tuple[Scale, Scale]] = {
    FusionMethod.CONVEX: (_share_of_best, _min_max),
    FusionMethod.RRF: (_reciprocal_ranks, _reciprocal_ranks),
}
