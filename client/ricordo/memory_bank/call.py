"""What calls are told that have nothing to be told."""

from typing import TypeAlias

from ricordo.memory_bank.base import BankModel


class CallConfig(BankModel):
    """The `config` of a call that needs none: it may be left out, or be empty."""


GetMemoryBankConfig: TypeAlias = CallConfig
DeleteMemoryBankConfig: TypeAlias = CallConfig
GetMemoryConfig: TypeAlias = CallConfig
DeleteMemoryConfig: TypeAlias = CallConfig
RetrieveMemoryProfilesConfig: TypeAlias = CallConfig
GetMemoryRevisionConfig: TypeAlias = CallConfig
