"""Pages of lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class OrderBy:
    field: str
    descending: bool = False


@dataclass(frozen=True)
class PageRequest:
    """At most `size` rows behind `after`: the position of the last row seen."""

    size: int
    after: Sequence[Any] | None = None


@dataclass(frozen=True)
class Page(Generic[Item]):
    """Items with the position of each: the values of its order keys, the id last."""

    items: Sequence[Item]
    positions: Sequence[Sequence[Any]]
    has_more: bool
