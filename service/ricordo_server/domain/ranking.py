"""Merges the ranked lists of several sources into one order.

Scores of two sources mean different things (a cosine, a share of the best ts_rank, a fused sum), so only the rank
within the own list counts: score = 1 / (60 + rank), which takes the best of each source first, then the second
of each. No score depends on another source: when one fails, the order of all others stays.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ricordo_server.domain.context import Chunk, ContextSource
from ricordo_server.domain.fusion import reciprocal_rank
from ricordo_server.domain.memory import Memory
from ricordo_server.domain.search import Hit
from ricordo_server.domain.session import Turn

RANKING_STRATEGY = "reciprocal_rank"

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
