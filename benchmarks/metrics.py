"""What a ranking is worth: pure functions over ids, with no idea where the ranking came from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

DEPTHS = (5, 10, 20)
ANSWERABLE = frozenset({1, 2, 3, 4})


@dataclass(frozen=True, slots=True)
class Row:
    """One question with its outcome: the ids that hold the evidence, and the ids found, best first."""

    category: int
    evidence: tuple[str, ...]
    ranked_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over a group of questions; `recall` maps a depth to the mean recall at that depth."""

    questions: int
    recall: Mapping[int, float]
    mrr: float


def recall_at_k(evidence: Sequence[str], ranked_ids: Sequence[str], k: int) -> float:
    """Share of the distinct evidence ids found among the first `k`, 0 to 1."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    wanted = _distinct(evidence)
    return len(wanted.intersection(ranked_ids[:k])) / len(wanted)


def mrr(evidence: Sequence[str], ranked_ids: Sequence[str]) -> float:
    """1 / rank of the first evidence id, counted from 1; 0 where none was found."""
    wanted = _distinct(evidence)
    ranks = (rank for rank, found in enumerate(ranked_ids, start=1) if found in wanted)
    first = next(ranks, None)
    return 1 / first if first else 0.0


def summarise(rows: Iterable[Row], depths: Sequence[int] = DEPTHS) -> dict[str, Figures]:
    """Means for all rows, for categories 1 to 4 together and for each category; empty groups are left out."""
    kept = tuple(rows)
    groups = {"all": kept, "categories 1 to 4": tuple(row for row in kept if row.category in ANSWERABLE)}
    for number in sorted({row.category for row in kept}):
        groups[f"category {number}"] = tuple(row for row in kept if row.category == number)
    return {name: _means(group, depths) for name, group in groups.items() if group}


def _distinct(evidence: Sequence[str]) -> frozenset[str]:
    if not evidence:
        raise ValueError("a question without evidence cannot be scored: drop it while loading")
    return frozenset(evidence)


def _means(rows: Sequence[Row], depths: Sequence[int]) -> Figures:
    return Figures(
        questions=len(rows),
        recall={k: fmean(recall_at_k(row.evidence, row.ranked_ids, k) for row in rows) for k in depths},
        mrr=fmean(mrr(row.evidence, row.ranked_ids) for row in rows),
    )
