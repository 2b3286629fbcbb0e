"""Conditions on rows, as a typed tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ricordo_server.domain.metadata import MetadataValue


class Comparator(StrEnum):
    EQ = "EQ"
    LT = "LT"
    LE = "LE"
    GT = "GT"
    GE = "GE"
    IN = "IN"
    EXISTS = "EXISTS"
    MATCHES = "MATCHES"
    CONTAINS = "CONTAINS"
    PREFIX = "PREFIX"
    HAS = "HAS"


@dataclass(frozen=True)
class AllOf:
    parts: "Sequence[Filter]"


@dataclass(frozen=True)
class AnyOf:
    parts: "Sequence[Filter]"


@dataclass(frozen=True)
class Negated:
    part: "Filter"


@dataclass(frozen=True)
class Comparison:
    """`path` holds the segments, outermost first: ("metadata", "a.b"), ("content",)."""

    path: tuple[str, ...]
    comparator: Comparator
    values: Sequence[MetadataValue] = ()


Filter = AllOf | AnyOf | Negated | Comparison
