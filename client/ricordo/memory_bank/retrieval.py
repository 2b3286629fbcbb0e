"""What `retrieve` is asked, and what it finds."""

from collections.abc import Collection

from pydantic import Field

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.filter import FilterConfig
from ricordo.memory_bank.memory import Memory
from ricordo.memory_bank.value import MemoryType
from ricordo.models import MemoryKind, SearchMode

DEFAULT_FOUND = 3
MAX_FOUND = 100
"""Of one search, and of one page."""


class RetrieveMemoriesRequestSimilaritySearchParams(BankModel):
    """What to look for: `top_k` of at most 100 (more is 100).

    `mode` is a choice of ours: "semantic", as memory banks do, or "hybrid" or "text" to look for the words too.
    """

    search_query: str
    top_k: int = Field(default=DEFAULT_FOUND, ge=0)
    mode: SearchMode = SearchMode.SEMANTIC


class RetrieveMemoriesRequestSimpleRetrievalParams(BankModel):
    """How many a page: at most 100 (more is 100)."""

    page_size: int = Field(default=MAX_FOUND, ge=0)
    page_token: str = ""


class RetrieveMemoriesConfig(FilterConfig):
    """Further conditions, all of which hold.

    `memory_types` says which types, none: natural language. `kinds` says it in the words of other surfaces.
    """

    memory_types: list[MemoryType] = Field(default_factory=list)
    kinds: Collection[MemoryKind] = ()


class RetrieveMemoriesResponseRetrievedMemory(BankModel):
    """A memory that was found; in a similarity search with its Euclidean `distance`, smaller is closer."""

    memory: Memory
    distance: float | None = None
