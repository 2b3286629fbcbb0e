"""The filters of memory banks as ours: groups of conditions on metadata, and text."""

from collections.abc import Callable, Sequence

from ricordo.filters import Field, Filter, all_of, any_of, field
from ricordo.memory_bank import MemoryConjunctionFilter, MemoryFilter, Operator
from ricordo.models import MetadataValue
from ricordo.models.filter import Expression

COMPARISONS: dict[Operator, Callable[[Field, MetadataValue], Filter]] = {
    Operator.EQUAL: Field.eq,
    Operator.GREATER_THAN: Field.gt,
    Operator.LESS_THAN: Field.lt,
}


def read_filter(text: str | None, groups: Sequence[MemoryConjunctionFilter] = ()) -> Filter | None:
    """The condition that both make: the text, and one of the groups."""
    parts: list[Filter] = [Expression(text=text)] if text and text.strip() else []
    if groups:
        parts.append(any_of(*map(_group, groups)))
    return all_of(*parts) if parts else None


def _group(group: MemoryConjunctionFilter) -> Filter:
    return all_of(*map(_comparison, group.filters))


def _comparison(given: MemoryFilter) -> Filter:
    compared = COMPARISONS[given.op](field("metadata", given.key), given.value.value)
    return ~compared if given.negate else compared
