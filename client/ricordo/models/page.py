"""One page of a list."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item", covariant=True)


@dataclass(frozen=True)
class Page(Generic[Item]):
    """One page of a list; `next_page_token` is empty on the last, and continues the list later."""

    items: tuple[Item, ...]
    next_page_token: str
