"""Batches of facts, and what became of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ricordo.errors import MemoryClientError
from ricordo.models import BulkCreateSemanticResult, MemoryResult, NewMemory, RefusedFact, SemanticFact

MOST_AT_ONCE = 500


def facts_of(facts: Iterable[SemanticFact | Mapping[str, Any]]) -> list[SemanticFact]:
    """The facts, of which each has a text and a label.

    Raises:
        MemoryClientError: One has not.
    """
    return [_fact(fact, number) for number, fact in enumerate(facts)]


def chunks(drafts: Sequence[NewMemory]) -> Iterator[Sequence[NewMemory]]:
    """As many at a time as one request takes."""
    for start in range(0, len(drafts), MOST_AT_ONCE):
        yield drafts[start : start + MOST_AT_ONCE]


def batch_result(drafts: Sequence[NewMemory], results: Sequence[MemoryResult]) -> BulkCreateSemanticResult:
    """Counts what was created, skipped for its taken label, and refused."""
    created = [result.memory for result in results if result.memory]
    failed = [
        RefusedFact(label=draft.key, error=result.error)
        for draft, result in zip(drafts, results, strict=True)
        if result.error
    ]
    skipped = [fact.label for fact in failed if fact.error.reason == "KEY_TAKEN"]
    return BulkCreateSemanticResult(
        created_count=len(created),
        skipped_count=len(skipped),
        created_ids=[memory.memory_id for memory in created],
        skipped_labels=skipped,
        refused=[fact for fact in failed if fact.error.reason != "KEY_TAKEN"],
        has_embeddings=bool(created) and all(memory.has_embedding for memory in created),
    )


def _fact(fact: SemanticFact | Mapping[str, Any], number: int) -> SemanticFact:
    try:
        read = fact if isinstance(fact, SemanticFact) else SemanticFact(**fact)
    except (MemoryClientError, TypeError) as error:
        raise MemoryClientError(f"facts[{number}] is no fact with a text and a label: {error}") from None
    if not read.label.strip():
        raise MemoryClientError(f"facts[{number}] has a blank label")
    return read
