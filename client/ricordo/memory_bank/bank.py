"""Memory banks: what comes back, and what their calls are told."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.configuration import ManagedSemanticMemoryConfig


class MemoryBank(BankModel):
    """A bank. `name` is "memoryBanks/<store_id>", or in the form that it was asked by; times are UTC.

    `managed_semantic_memory_config` is what it has of its own.
    """

    name: str
    store_id: str
    display_name: str | None = None
    description: str | None = None
    managed_semantic_memory_config: ManagedSemanticMemoryConfig
    create_time: datetime
    update_time: datetime


class CreateMemoryBankConfig(BankModel):
    """What a new bank is. `memory_bank_id`: 3 to 56 of `[a-z0-9-]`, first a letter; not given, one is made."""

    memory_bank_id: str | None = None
    display_name: str | None = None
    description: str | None = None

    _elsewhere: ClassVar[Mapping[str, str]] = {
        **BankModel._elsewhere,
        "encryption_spec": "who runs the database encrypts its disk",
    }


class UpdateMemoryBankConfig(BankModel):
    """The new values."""

    display_name: str | None = None
    description: str | None = None


class ListMemoryBanksConfig(BankModel):
    """How many a page: 1 to 1,000."""

    page_size: int = 100
    page_token: str = ""

    _elsewhere: ClassVar[Mapping[str, str]] = {
        **BankModel._elsewhere,
        "filter": "list all banks, and compare their display_name",
    }
