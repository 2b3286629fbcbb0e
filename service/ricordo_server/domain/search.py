"""What a search asks and answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from ricordo_server.domain.limits import DEFAULT_TOP_K

Item = TypeVar("Item")


class SearchMode(StrEnum):
    TEXT = "TEXT"
    SEMANTIC = "SEMANTIC"
    HYBRID = "HYBRID"


class FusionMethod(StrEnum):
    CONVEX = "CONVEX"
    RRF = "RRF"


# Measured on LoCoMo turns with all-MiniLM-L6-v2 and ts_rank; see benchmarks/README.md.
DEFAULT_SEMANTIC_WEIGHT = 0.3


@dataclass(frozen=True)
class Fusion:
    method: FusionMethod = FusionMethod.CONVEX
    semantic_weight: float = DEFAULT_SEMANTIC_WEIGHT


@dataclass(frozen=True)
class SearchOptions:
    query: str
    query_embedding: Sequence[float] | None = None
    mode: SearchMode = SearchMode.HYBRID
    fusion: Fusion = Fusion()
    top_k: int = DEFAULT_TOP_K
    min_similarity: float | None = None
    explain: bool = False


@dataclass(frozen=True)
class LegScores:
    """Ranks from 1 and raw scores; None where the leg did not find the row."""

    text_rank: int | None = None
    text_score: float | None = None
    semantic_rank: int | None = None
    semantic_score: float | None = None


@dataclass(frozen=True)
class Hit(Generic[Item]):
    """`distance` is Euclidean between unit vectors, None when the semantic leg did not find the row."""

    item: Item
    score: float
    distance: float | None
    legs: LegScores
    embedding: Sequence[float] | None = None


@dataclass(frozen=True)
class SearchResult(Generic[Item]):
    hits: Sequence[Hit[Item]]
    effective_mode: SearchMode
    degraded_reason: str = ""
    exact: bool = True
