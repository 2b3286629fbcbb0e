"""Which memories: conditions as text, and as groups of conditions on the metadata."""

from pydantic import Field

from ricordo.memory_bank.base import BankModel, BankWord
from ricordo.memory_bank.value import MemoryMetadataValue


class Operator(BankWord):
    """How a value is compared."""

    EQUAL = "EQUAL"
    GREATER_THAN = "GREATER_THAN"
    LESS_THAN = "LESS_THAN"


class MemoryFilter(BankModel):
    """A condition on one key of the metadata; `negate` holds for memories without the key too."""

    key: str
    op: Operator = Operator.EQUAL
    value: MemoryMetadataValue
    negate: bool = False


class MemoryConjunctionFilter(BankModel):
    """Holds when every filter does; groups of them hold when one does."""

    filters: list[MemoryFilter] = Field(min_length=1)


class FilterConfig(BankModel):
    """Conditions, which hold together: as text, and as groups of which one holds."""

    filter: str | None = None
    filter_groups: list[MemoryConjunctionFilter] = Field(default_factory=list)
