"""Merges the ranked lists of several sources into one order.

Scores of two sources mean different things (a cosine, a share of the best ts_rank, a fused sum), so only the rank
within the own list counts: score = 1 / (60 + rank), which takes the best of each source first, then the second
of each. No score depends on another source: when one fails, the order of all others stays. A reranker that reads
the query and each text together gives the best of them another order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ricordo_server.domain.context import Chunk, ContextSource
from ricordo_server.domain.fusion import reciprocal_rank
from ricordo_server.domain.memory import Memory
from ricordo_server.domain.search import Hit
from ricordo_server.domain.session import Turn

# What `ranking_strategy` says: this, or RERANKED and the model, or the first and why there is no other.
RECIPROCAL_RANK = "reciprocal_rank"
RERANKED = "rerank:"

AnyHit: TypeAlias = Hit[Memory] | Hit[Turn]


def rank_together(found: Mapping[ContextSource, Sequence[AnyHit]]) -> list[Chunk]:
    """Best first. `found` holds the hits of each source, best first, in the order the sources were asked for.

    Equal ranks follow that order. Two hits of one source never tie: the search has put them in order by
    score, recency and id.
    """
    chunks = [
        Chunk(source, hit.item, reciprocal_rank(rank), hit.embedding)
        for source, hits in found.items()
        for rank, hit in enumerate(hits, 1)
    ]
    return sorted(chunks, key=lambda chunk: chunk.score, reverse=True)  # stable


def without_reranker(cause: str) -> str:
    """The strategy of a context that was to be reranked and is not."""
    return f"{RECIPROCAL_RANK};rerank={cause}"


def reorder(chunks: Sequence[Chunk], scores: Sequence[float]) -> list[Chunk]:
    """The chunks by their reranker's scores, best first; equal ones keep their order."""
    scored = [replace(chunk, rerank_score=score) for chunk, score in zip(chunks, scores, strict=True)]
    return sorted(scored, key=lambda chunk: chunk.rerank_score or 0.0, reverse=True)  # stable
