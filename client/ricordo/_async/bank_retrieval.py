"""How memories of a bank are retrieved: by what they say, or all of a scope."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ricordo import models
from ricordo._async.memories import AsyncMemories
from ricordo._async.pager import AsyncPager
from ricordo._convert.bank_filters import read_filter
from ricordo._convert.bank_memories import decode_memory, kinds_of
from ricordo._convert.bank_names import Name
from ricordo._convert.bank_values import exactly
from ricordo.memory_bank import (
    RetrieveMemoriesConfig,
    RetrieveMemoriesRequestSimilaritySearchParams,
    RetrieveMemoriesRequestSimpleRetrievalParams,
    RetrieveMemoriesResponseRetrievedMemory,
)
from ricordo.memory_bank.retrieval import DEFAULT_FOUND, MAX_FOUND

Found = AsyncPager[RetrieveMemoriesResponseRetrievedMemory]


@dataclass(frozen=True)
class AsyncBankRetrieval:
    """One retrieval, of a bank and a scope."""

    memories: AsyncMemories
    bank: Name
    scope: Mapping[str, str]
    config: RetrieveMemoriesConfig
    timeout: float | None

    def similar(self, params: RetrieveMemoriesRequestSimilaritySearchParams) -> Found:
        """The memories that are closest, in one page."""

        async def fetch(_: str) -> models.Page[RetrieveMemoriesResponseRetrievedMemory]:
            found = await self.memories.search(
                params.search_query,
                mode=params.mode,
                top_k=min(params.top_k or DEFAULT_FOUND, MAX_FOUND),
                timeout=self.timeout,
                **self._conditions(),
            )
            return models.Page(tuple(self._found(hit.memory, hit.distance) for hit in found.hits), "")

        return AsyncPager(fetch, "")

    def everything(self, params: RetrieveMemoriesRequestSimpleRetrievalParams) -> Found:
        """All memories of the scope, newest first."""
        memories = self.memories.list(
            page_size=min(params.page_size or MAX_FOUND, MAX_FOUND),
            page_token=params.page_token,
            timeout=self.timeout,
            **self._conditions(),
        )
        return memories.mapped(self._found)

    def _conditions(self) -> dict[str, Any]:
        return {
            "scope": exactly(self.scope),
            "kinds": kinds_of(self.config),
            "filters": read_filter(self.config.filter, self.config.filter_groups),
            "store": self.bank.store_id,
        }

    def _found(
        self, memory: models.Memory, distance: float | None = None
    ) -> RetrieveMemoriesResponseRetrievedMemory:
        return RetrieveMemoriesResponseRetrievedMemory(
            memory=decode_memory(memory, self.bank), distance=distance
        )
