"""The filters of memory banks as ours: groups of conditions on metadata, and text."""

import re
from collections.abc import Callable, Sequence

from ricordo.errors import MemoryClientError
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


LABEL = re.compile(r'\s*labels\.(?P<key>"[^"]+"|[\w-]+)\s*=\s*"(?P<value>[^"]*)"\s*(?P<joint>AND\b|$)')


def read_label_filter(text: str | None) -> dict[str, str]:
    """The labels that a filter of revisions asks for: 'labels.source = "import" AND labels.run = "7"'.

    Raises:
        MemoryClientError: It is of another form; the message says from which character on.
    """
    labels: dict[str, str] = {}
    position, text = 0, (text or "").rstrip()
    joint = "AND" if text else ""
    while joint:
        match = LABEL.match(text, position)
        if match is None:
            raise MemoryClientError(
                f'the filter cannot be read from character {position} on: write labels.<key> = "<value>", and AND '
                "between several",
                reason="INVALID_FILTER",
            )
        labels[match["key"].strip('"')] = match["value"]
        position, joint = match.end(), match["joint"]
    return labels
