"""What an erasure removed, or would remove."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ErasureReceipt:
    """The number of rows by table; `is_done` is False when they were only counted."""

    row_counts: Mapping[str, int]
    is_done: bool
