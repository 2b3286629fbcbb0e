"""Refuses filters that break a limit or cannot mean anything, before a statement is built from them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from ricordo_server.domain import limits
from ricordo_server.domain.errors import invalid_field, invalid_filter, over_limit
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_fields import FieldType, FilterFields
from ricordo_server.domain.memory import MemoryKind, MemorySource
from ricordo_server.domain.metadata import MetadataValue

Node = TypeVar("Node")

# "metadata" and a key for each level that metadata may have.
MAX_PATH_SEGMENTS = 1 + limits.MAX_METADATA_DEPTH


class ValueType(StrEnum):
    """As a message about a filter names it."""

    NULL = "null"
    TEXT = "text"
    NUMBER = "number"
    BOOL = "bool"
    TIME = "time"
    LIST = "list"
    MAP = "map"


ORDER = frozenset({Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE})
EQUALITY = frozenset({Comparator.EQ, Comparator.IN, Comparator.EXISTS})
TEXTUAL = frozenset({Comparator.MATCHES, Comparator.CONTAINS, Comparator.PREFIX})

COMPARATORS: Mapping[FieldType, frozenset[Comparator]] = {
    FieldType.TEXT: EQUALITY | ORDER | TEXTUAL,
    FieldType.LABEL: EQUALITY | ORDER | TEXTUAL,
    FieldType.NUMBER: EQUALITY | ORDER,
    FieldType.TIME: EQUALITY | ORDER,
    FieldType.KIND: EQUALITY,
    FieldType.SOURCE: EQUALITY,
    FieldType.LIST: frozenset({Comparator.HAS, Comparator.EXISTS}),
    FieldType.METADATA: frozenset(Comparator),
}

# What a system field is compared with; of metadata the comparator decides.
OPERANDS: Mapping[FieldType, ValueType] = {
    FieldType.TEXT: ValueType.TEXT,
    FieldType.LABEL: ValueType.TEXT,
    FieldType.NUMBER: ValueType.NUMBER,
    FieldType.TIME: ValueType.TIME,
    FieldType.KIND: ValueType.TEXT,
    FieldType.SOURCE: ValueType.TEXT,
    FieldType.LIST: ValueType.TEXT,
}

NAMES: Mapping[FieldType, frozenset[str]] = {
    FieldType.KIND: frozenset(MemoryKind),
    FieldType.SOURCE: frozenset(MemorySource),
}


def check_filter(tree: Filter, fields: FilterFields, field: str = "filter") -> None:
    """`field` is the path of the filter in its request.

    Raises:
        DomainError: LIMIT_EXCEEDED, INVALID_FILTER or INVALID_FIELD, with the path of the part at fault.
    """
    check_size(tree, parts_of, field)
    _check_node(tree, fields, field)


def check_size(tree: Node, parts_of: Callable[[Node], Sequence[Node] | None], field: str) -> None:
    """Limits depth and comparisons; without recursion, for a tree not known to be shallow.

    Args:
        parts_of: the parts of a node, None of a comparison.
    """
    pending, comparisons = [(tree, 1)], 0
    while pending:
        node, depth = pending.pop()
        if depth > limits.MAX_FILTER_DEPTH:
            raise over_limit(field, "levels", limits.MAX_FILTER_DEPTH, depth)
        parts = parts_of(node)
        comparisons += parts is None
        # Each part holds a comparison or is refused for holding none.
        least = comparisons + len(pending) + len(parts or ())
        if least > limits.MAX_FILTER_COMPARISONS:
            raise over_limit(field, "comparisons", limits.MAX_FILTER_COMPARISONS, least)
        pending.extend((part, depth + 1) for part in parts or ())


def parts_of(tree: Filter) -> Sequence[Filter] | None:
    match tree:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            return parts
        case Negated(part=part):
            return (part,)
        case Comparison():
            return None


def type_of(value: MetadataValue) -> ValueType:
    match value:
        case None:
            return ValueType.NULL
        case str():
            return ValueType.TEXT
        case bool():  # a bool is an int to Python
            return ValueType.BOOL
        case int() | float():
            return ValueType.NUMBER
        case datetime():
            return ValueType.TIME
        case Mapping():
            return ValueType.MAP
        case _:
            return ValueType.LIST


def _check_node(tree: Filter, fields: FilterFields, field: str) -> None:
    match tree:
        case AllOf(parts=parts):
            _check_parts(parts, fields, f"{field}.all_of")
        case AnyOf(parts=parts):
            _check_parts(parts, fields, f"{field}.any_of")
        case Negated(part=part):
            _check_node(part, fields, f"{field}.negated")
        case Comparison():
            _check_comparison(tree, fields, f"{field}.comparison")


def _check_parts(parts: Sequence[Filter], fields: FilterFields, field: str) -> None:
    if not parts:
        raise invalid_filter(f"{field} is empty", "one part or more", field)
    for index, part in enumerate(parts):
        _check_node(part, fields, f"{field}.filters[{index}]")


def _check_comparison(comparison: Comparison, fields: FilterFields, field: str) -> None:
    kind = _check_path(comparison.path, fields, f"{field}.path")
    if comparison.comparator not in COMPARATORS[kind]:
        message = f"{comparison.comparator} does not compare {kind}"
        raise invalid_filter(message, _listed(COMPARATORS[kind]), f"{field}.comparator")
    _check_count(comparison, field)
    for index, value in enumerate(comparison.values):
        _check_operand(kind, comparison.comparator, value, f"{field}.values[{index}]")


def _check_path(path: tuple[str, ...], fields: FilterFields, field: str) -> FieldType:
    if len(path) > MAX_PATH_SEGMENTS:
        raise over_limit(field, "segments", MAX_PATH_SEGMENTS, len(path))
    if any("\0" in segment for segment in path):
        raise invalid_field(field, "text may not contain NUL: leave it out")
    kind = fields.find(path)
    if kind is None:
        named = ".".join(segment[:64] for segment in path)
        raise invalid_filter(f"there is no field {named!r}", fields.accepted, field)
    return kind


def _check_count(comparison: Comparison, field: str) -> None:
    count = len(comparison.values)
    if comparison.comparator is Comparator.IN and count > limits.MAX_IN_VALUES:
        raise over_limit(f"{field}.values", "values", limits.MAX_IN_VALUES, count)
    match comparison.comparator:
        case Comparator.IN:
            right, accepted = count > 0, f"1 to {limits.MAX_IN_VALUES} values"
        case Comparator.EXISTS:
            right, accepted = count == 0, "no value"
        case _:
            right, accepted = count == 1, "one value"
    if not right:
        message = f"{comparison.comparator} does not take {count} values"
        raise invalid_filter(message, accepted, f"{field}.values")


def _check_operand(kind: FieldType, comparator: Comparator, value: MetadataValue, field: str) -> None:
    accepted = _operands_of(kind, comparator)
    actual = type_of(value)
    if actual not in accepted:
        raise invalid_filter(f"{comparator} does not compare {kind} with {actual}", _listed(accepted), field)
    if kind in NAMES and value not in NAMES[kind]:
        raise invalid_filter(f"{value!r:.80} is not {kind}", _listed(NAMES[kind]), field)
    _check_scalar(value, field)
    if (
        comparator is Comparator.MATCHES
        and isinstance(value, str)
        and len(value) > limits.MAX_PATTERN_CHARACTERS
    ):
        raise over_limit(field, "characters", limits.MAX_PATTERN_CHARACTERS, len(value))


def _operands_of(kind: FieldType, comparator: Comparator) -> frozenset[ValueType]:
    if kind is not FieldType.METADATA:
        return frozenset({OPERANDS[kind]})
    if comparator in TEXTUAL:
        return frozenset({ValueType.TEXT})
    if comparator in ORDER:
        return frozenset({ValueType.TEXT, ValueType.NUMBER, ValueType.TIME})
    if comparator is Comparator.EQ:
        return frozenset(ValueType)
    return frozenset(ValueType) - {ValueType.NULL}


def _check_scalar(value: MetadataValue, field: str) -> None:
    """For trees that do not come from messages, whose values are checked where they are decoded."""
    if isinstance(value, str) and "\0" in value:
        raise invalid_field(field, "text may not contain NUL: leave it out")
    if isinstance(value, float) and not math.isfinite(value):
        raise invalid_field(field, f"{value} is no number to compare with: send a finite one")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise invalid_field(field, "the integer does not fit 64 bits: send a double")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
