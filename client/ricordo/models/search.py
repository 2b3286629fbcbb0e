"""What a search finds, and how it was run."""

from typing import Generic, TypeVar

from ricordo.models.base import Model, SearchMode
from ricordo.models.memory import Memory
from ricordo.models.turn import Turn

HitType = TypeVar("HitType", bound="Hit")


class LegScores(Model):
    """Where a hit stood in each leg: its rank from 1, and its ts_rank or cosine similarity."""

    text_rank: int | None = None
    text_score: float | None = None
    semantic_rank: int | None = None
    semantic_score: float | None = None


class Hit(Model):
    """One finding. A larger `score` is better; its scale is that of the mode that ran.

    `distance` is the Euclidean distance of the unit vectors, given when the semantic leg found the row.
    `legs` comes with `explain`, `embedding` with `include_embedding`.
    """

    score: float
    distance: float | None = None
    legs: LegScores | None = None
    embedding: tuple[float, ...] | None = None


class MemoryHit(Hit):
    """A memory that was found."""

    memory: Memory


class TurnHit(Hit):
    """A turn that was found."""

    turn: Turn


class SearchReport(Model):
    """How a search was run.

    A hybrid search falls to `text` when the embedding model is down: then `degraded_reason` says why. `exact`
    tells whether the semantic leg compared every row.
    """

    effective_mode: SearchMode
    degraded_reason: str = ""
    exact: bool = False


class SearchResult(Model, Generic[HitType]):
    """Hits, best first (ties by recency, then id), and how they were found."""

    hits: tuple[HitType, ...]
    report: SearchReport
