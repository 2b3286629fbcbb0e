"""What the mutations of a bank answer: operations."""

from typing import Any

from pydantic import Field

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.generation import GenerateMemoriesResponse
from ricordo.memory_bank.memory import Memory, PurgeMemoriesResponse


class Operation(BankModel):
    """What is being done. `name` is None where it was done when the call returned: there is nothing to poll."""

    name: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    done: bool = True
    error: dict[str, Any] | None = None


class MemoryOperation(Operation):
    """Of `create` and `update`."""

    response: Memory | None = None


class RollbackMemoryOperation(Operation):
    """Of `rollback`."""

    response: Memory | None = None


class GenerateMemoriesOperation(Operation):
    """Of `generate`."""

    response: GenerateMemoriesResponse | None = None


class PurgeMemoriesOperation(Operation):
    """Of `purge`."""

    response: PurgeMemoriesResponse | None = None


class MemoryBankIngestEventsOperation(Operation):
    """Of `ingest_events`: what makes memories of the events that wait. Several ingestions of a stream share it."""

    response: GenerateMemoriesResponse | None = None


class DeleteMemoryOperation(Operation):
    """Of `delete` of a memory."""


class DeleteMemoryBankOperation(Operation):
    """Of `delete` of a bank."""
