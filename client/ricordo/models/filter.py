"""The filter tree: conditions on rows, combined with `&`, `|` and `~`."""

from typing import Any

from ricordo.models.base import Model, Word


class Comparator(Word):
    """How a field is compared with values."""

    EQ = "eq"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    EXISTS = "exists"
    MATCHES = "matches"
    CONTAINS = "contains"
    PREFIX = "prefix"
    HAS = "has"


class Filter(Model):
    """A condition. `a & b` holds when both do, `a | b` when one does, `~a` when `a` does not."""

    def __and__(self, other: "Filter") -> "Filter":
        return AllOf(parts=(*parts_of(self, AllOf), *parts_of(other, AllOf)))

    def __or__(self, other: "Filter") -> "Filter":
        return AnyOf(parts=(*parts_of(self, AnyOf), *parts_of(other, AnyOf)))

    def __invert__(self) -> "Filter":
        return Negated(part=self)


class AllOf(Filter):
    """True when every part is."""

    parts: tuple[Filter, ...]


class AnyOf(Filter):
    """True when one part is."""

    parts: tuple[Filter, ...]


class Negated(Filter):
    """True when the part is not; so also for rows that lack the key."""

    part: Filter


class Comparison(Filter):
    """One comparison; `values` holds one operand, except for IN (1 to 100) and EXISTS (none)."""

    path: tuple[str, ...]
    comparator: Comparator
    values: tuple[Any, ...] = ()


class Expression(Filter):
    """A condition as text, which the server reads: see `ricordo.filters`. It may be joined by `&` only."""

    text: str


def parts_of(node: Filter, join: type[AllOf] | type[AnyOf]) -> tuple[Filter, ...]:
    """The parts of a node of that join, else the node itself: keeps the tree flat."""
    return node.parts if isinstance(node, join) else (node,)
