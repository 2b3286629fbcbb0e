"""Memories of a bank: what comes back, and what `create`, `update`, `list` and `purge` are told."""

from datetime import datetime
from typing import Self

from pydantic import Field, model_validator

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.filter import FilterConfig
from ricordo.memory_bank.revision import RevisionConfig
from ricordo.memory_bank.value import (
    BankDuration,
    MemoryMetadataValue,
    MemoryStructuredContent,
    MemoryTopicId,
    MemoryType,
)
from ricordo.models import MemoryKind


class Memory(BankModel):
    """A memory. `name` is "<bank>/memories/<memory_id>"; times are UTC.

    `fact` is None where the answer would have been over 3 MiB: `get` it then. `kind` is what it is to other surfaces.
    """

    name: str
    memory_id: str
    kind: MemoryKind
    memory_type: MemoryType
    revision: int
    fact: str | None = None
    scope: dict[str, str] = Field(default_factory=dict)
    display_name: str | None = None
    description: str | None = None
    topics: list[MemoryTopicId] = Field(default_factory=list)
    metadata: dict[str, MemoryMetadataValue] = Field(default_factory=dict)
    structured_content: MemoryStructuredContent | None = None
    create_time: datetime
    update_time: datetime
    expire_time: datetime | None = None


class MemoryConfig(RevisionConfig):
    """What else a new memory has. It ends at `expire_time`, or `ttl` from now; with neither it stays."""

    display_name: str | None = None
    description: str | None = None
    wait_for_completion: bool = True
    ttl: BankDuration | None = None
    expire_time: datetime | None = None
    topics: list[MemoryTopicId] | None = None
    metadata: dict[str, MemoryMetadataValue] | None = None
    memory_id: str | None = None

    @model_validator(mode="after")
    def _check_end(self) -> Self:
        if self.ttl is not None and self.expire_time is not None:
            raise ValueError("give ttl or expire_time, not both")
        return self


class UpdateMemoryConfig(MemoryConfig):
    """The new values. An `update_mask`, "fact,displayName", also clears what it names and is not given."""

    memory_id: None = None
    update_mask: str | None = None


class ListMemoriesConfig(FilterConfig):
    """Which memories, how ordered, and how many a page: 1 to 1,000. A `scope` is matched exactly."""

    scope: dict[str, str] | None = None
    page_size: int = 100
    page_token: str = ""
    order_by: str = ""


class RollbackMemoryConfig(BankModel):
    """How to wait: a rollback is done when its call returns."""

    wait_for_completion: bool = True


class PurgeMemoriesConfig(BankModel):
    """How to wait: a purge is done when its call returns."""

    wait_for_completion: bool = True


class PurgeMemoriesResponse(BankModel):
    """How many memories were, or would be, deleted."""

    purge_count: int
