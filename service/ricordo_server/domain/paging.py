"""Pages of lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class OrderBy:
    field: str
    descending: bool = False


@dataclass(frozen=True)
class PageRequest:
    """At most `size` rows behind `after`: the order values of the last row seen, the id last."""

    size: int
    after: Sequence[Any] | None = None


@dataclass(frozen=True)
class Page(Generic[Row]):
    """`next_after` is None on the last page."""

    rows: Sequence[Row]
    next_after: Sequence[Any] | None
