"""Revisions of memories: what comes back, and how they are kept."""

from datetime import datetime
from typing import Self

from pydantic import Field, model_validator

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.value import BankDuration
from ricordo.models import RevisionAction


class IntermediateExtractedMemory(BankModel):
    """What was learned, before it met the memories there were; of a field of a profile with its value."""

    fact: str
    structured_data: dict[str, object] | None = None


class MemoryRevision(BankModel):
    """What a memory was. `name` is "<memory>/revisions/<revision>"; `action` is what made it so.

    It goes at `expire_time`; the memory as it is stays. `labels` are those of the call that made the change,
    `extracted_memories` what it came from, where it was generated.
    """

    name: str
    revision: int
    action: RevisionAction
    fact: str | None = None
    structured_data: dict[str, object] | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    extracted_memories: list[IntermediateExtractedMemory] = Field(default_factory=list)
    create_time: datetime
    expire_time: datetime | None = None


class RevisionConfig(BankModel):
    """How a change is kept as a revision: with labels to find it by; until a time, or not at all.

    Without a time it is kept as the bank says. With `disable_memory_revisions` one cannot go back to it.
    """

    revision_labels: dict[str, str] = Field(default_factory=dict)
    revision_expire_time: datetime | None = None
    revision_ttl: BankDuration | None = None
    disable_memory_revisions: bool | None = None

    @model_validator(mode="after")
    def _check_end_of_revision(self) -> Self:
        ends = (self.revision_expire_time, self.revision_ttl, self.disable_memory_revisions or None)
        if sum(end is not None for end in ends) > 1:
            raise ValueError("give one of revision_expire_time, revision_ttl and disable_memory_revisions")
        return self


class ListMemoryRevisionsConfig(BankModel):
    """How many a page: 1 to 1,000; and which: 'labels.source = "import" AND labels.run = "7"'."""

    page_size: int = 100
    page_token: str = ""
    filter: str | None = None
