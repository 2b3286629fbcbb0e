"""Filters: Mongo-style dicts, expressions, or trees built with `field`, `all_of`, `any_of`, `&`, `|`, `~`.

    {"metadata.colour": "red", "create_time": {"$gte": monday}}
    'metadata.colour = "red" AND create_time >= "2026-01-31T00:00:00Z"'
    field("metadata", "colour").eq("red") & field("create_time").ge(monday)

A metadata key is named `metadata.<key>`; further segments walk into maps. Keys that hold dots are written as
tuples, `("metadata", "a.b")`. A row that lacks a key equals nothing, so `$ne`, `$nin` and `$nor` hold for it.

An expression is read by the server; `filter.proto` has its grammar (that of AIP-160: OR binds tighter than AND).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, TypeAlias

from ricordo.errors import MemoryClientError
from ricordo.models.base import MetadataValue
from ricordo.models.filter import AllOf, AnyOf, Comparator, Comparison, Expression, Filter, Negated

__all__ = ["Field", "Filter", "FilterInput", "all_of", "any_of", "field", "parse"]

FilterInput: TypeAlias = str | Filter | Mapping[str, Any] | Mapping[str | tuple[str, ...], Any]
"""A filter as callers give it: an expression, a built one, or a Mongo-style dict."""

MEMORY_FIELDS = frozenset(
    [
        "content",
        "fact",
        "title",
        "description",
        "key",
        "kind",
        "agent_id",
        "source",
        "topics",
        "tags",
        "create_time",
        "update_time",
        "event_time",
        "expire_time",
        "metadata",
        "labels",
    ]
)
TURN_FIELDS = frozenset(
    [
        "content",
        "role",
        "agent_id",
        "tool_name",
        "model_name",
        "turn_seq",
        "create_time",
        "event_time",
        "metadata",
        "labels",
    ]
)
SESSION_FIELDS = frozenset(
    ["session_id", "create_time", "update_time", "last_activity_time", "metadata", "labels"]
)
KEYED_FIELDS = frozenset({"metadata", "labels"})
TOPIC_PATHS = (("topics", "managed"), ("topics", "custom"))


@dataclass(frozen=True)
class Field:
    """A field to compare; made by `field`."""

    path: tuple[str, ...]

    def eq(self, value: MetadataValue) -> Filter:
        """Equal: whole value, case-sensitive, 2 equal to 2.0 but not to "2". None: without a value."""
        return ~self.exists() if value is None else self._compare(Comparator.EQ, value)

    def ne(self, value: MetadataValue) -> Filter:
        """Not equal, or without a value. None: with a value."""
        return self.exists() if value is None else ~self.eq(value)

    def lt(self, value: MetadataValue) -> Filter:
        """Less than: numbers and times; text by code point."""
        return self._compare(Comparator.LT, value)

    def le(self, value: MetadataValue) -> Filter:
        """Less than or equal."""
        return self._compare(Comparator.LE, value)

    def gt(self, value: MetadataValue) -> Filter:
        """Greater than."""
        return self._compare(Comparator.GT, value)

    def ge(self, value: MetadataValue) -> Filter:
        """Greater than or equal."""
        return self._compare(Comparator.GE, value)

    def is_in(self, values: Collection[MetadataValue]) -> Filter:
        """Equal to one of 1 to 100 values; None among them stands for "without a value"."""
        if isinstance(values, str | Mapping) or not values:
            raise _refusal(f"{'.'.join(self.path)}: give a list of at least one value, not {values!r}")
        given = [value for value in values if value is not None]
        found = [self._compare(Comparator.IN, *given)] if given else []
        return any_of(*found, *([~self.exists()] if len(given) < len(values) else []))

    def exists(self) -> Filter:
        """Has a value other than null."""
        return self._compare(Comparator.EXISTS)

    def matches(self, pattern: str) -> Filter:
        """The whole text matches a PostgreSQL regular expression of at most 256 characters."""
        return self._compare(Comparator.MATCHES, pattern)

    def contains(self, text: str) -> Filter:
        """The text contains this text."""
        return self._compare(Comparator.CONTAINS, text)

    def prefix(self, text: str) -> Filter:
        """The text starts with this text."""
        return self._compare(Comparator.PREFIX, text)

    def has(self, element: MetadataValue) -> Filter:
        """The list (topics, tags, a metadata list) holds this element."""
        return self._compare(Comparator.HAS, element)

    def _compare(self, comparator: Comparator, *values: MetadataValue) -> Filter:
        return Comparison(path=self.path, comparator=comparator, values=values)


def field(*path: str) -> Field:
    """Names a field, segment by segment: `field("create_time")`, `field("metadata", "colour")`.

    One argument with dots is split: `field("metadata.colour")`.
    """
    return Field(tuple(path[0].split(".")) if len(path) == 1 else path)


def all_of(first: Filter, *others: Filter) -> Filter:
    """True when every part is."""
    return reduce(and_, others, first)


def any_of(first: Filter, *others: Filter) -> Filter:
    """True when one part is."""
    return reduce(or_, others, first)


def parse(filters: FilterInput | None, accepted: Collection[str]) -> Filter | None:
    """Reads a filter and checks that it names accepted fields only.

    Args:
        filters: An expression, a built filter or a Mongo-style dict; None, {} and blank text are no filter.
        accepted: The system fields of the rows, "metadata" and "labels".

    Raises:
        MemoryClientError: The filter is malformed, or names another field: the message lists those accepted.
    """
    if filters is None or (isinstance(filters, Mapping) and not filters):
        return None
    if isinstance(filters, str):
        return Expression(text=filters) if filters.strip() else None
    tree = filters if isinstance(filters, Filter) else _condition(filters)
    _check_paths(tree, accepted)
    return tree


def _refusal(message: str) -> MemoryClientError:
    return MemoryClientError(message, reason="INVALID_FILTER")


def _condition(document: object) -> Filter:
    if not isinstance(document, Mapping) or not document:
        raise _refusal(f"a condition is a dict of at least one field or $operator, not {document!r}")
    return all_of(*(_member(name, value) for name, value in document.items()))


def _member(name: object, value: object) -> Filter:
    if isinstance(name, str) and name.startswith("$"):
        return _joined(name, value)
    if isinstance(name, tuple):
        return _compared(Field(name), value)
    return _compared(field(str(name)), value)


def _joined(operator: str, value: object) -> Filter:
    if operator not in JOINS:
        raise _refusal(f"unknown operator {operator}: between conditions stand {', '.join(JOINS)}")
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise _refusal(f"{operator} takes a list of at least one condition, not {value!r}")
    return JOINS[operator](*map(_condition, value))


def _compared(subject: Field, value: Any) -> Filter:
    if not _is_comparison(value):
        return subject.eq(value)
    return all_of(*(_operation(subject, operator, operand) for operator, operand in value.items()))


def _is_comparison(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    operators = [key for key in value if isinstance(key, str) and key.startswith("$")]
    if operators and len(operators) < len(value):
        raise _refusal(f"mixed $operators and plain keys in {dict(value)!r}: a map is compared with $eq")
    return bool(operators)


def _operation(subject: Field, operator: str, operand: Any) -> Filter:
    if operator == "$not":
        return ~_compared(subject, operand)
    if operator not in OPERATIONS:
        raise _refusal(f"unknown operator {operator}: after a field stand {', '.join(OPERATIONS)}, $not")
    return OPERATIONS[operator](subject, operand)


def _exists(subject: Field, wanted: object) -> Filter:
    if not isinstance(wanted, bool):
        raise _refusal(f"$exists takes True or False, not {wanted!r}")
    return subject.exists() if wanted else ~subject.exists()


def _none_of(first: Filter, *others: Filter) -> Filter:
    return ~any_of(first, *others)


JOINS: Mapping[str, Callable[..., Filter]] = {"$and": all_of, "$or": any_of, "$nor": _none_of}

OPERATIONS: Mapping[str, Callable[[Field, Any], Filter]] = {
    "$eq": Field.eq,
    "$ne": Field.ne,
    "$gt": Field.gt,
    "$gte": Field.ge,
    "$lt": Field.lt,
    "$lte": Field.le,
    "$in": Field.is_in,
    "$nin": lambda subject, values: ~subject.is_in(values),
    "$exists": _exists,
    "$matches": Field.matches,
    "$contains": Field.contains,
    "$prefix": Field.prefix,
    "$has": Field.has,
}


def _check_paths(node: Filter, accepted: Collection[str]) -> None:
    if isinstance(node, Comparison):
        _check_path(node.path, accepted)
    elif isinstance(node, Negated):
        _check_paths(node.part, accepted)
    elif isinstance(node, AllOf | AnyOf):
        for part in node.parts:
            _check_paths(part, accepted)


def _check_path(path: tuple[str, ...], accepted: Collection[str]) -> None:
    if path and all(path) and path[0] in accepted and _is_whole(path):
        return
    paths = sorted(f"{name}.<key>" if name in KEYED_FIELDS else name for name in accepted)
    raise _refusal(f"no field {'.'.join(path)!r} to filter by; accepted: {', '.join(paths)}")


def _is_whole(path: tuple[str, ...]) -> bool:
    if path[0] == "metadata":
        return len(path) > 1
    if path[0] == "labels":
        return len(path) == 2
    return len(path) == 1 or path in TOPIC_PATHS
