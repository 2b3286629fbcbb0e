"""What memories of a bank were before: `client.memory_banks.memories.revisions`."""

from ricordo._async.bank_names import AsyncBankNames
from ricordo._async.bank_pager import AsyncBankPager
from ricordo._async.revisions import AsyncRevisions
from ricordo._convert.bank_filters import read_label_filter
from ricordo._convert.bank_memories import decode_revision
from ricordo.memory_bank import GetMemoryRevisionConfig, ListMemoryRevisionsConfig, MemoryRevision
from ricordo.memory_bank.base import OrDict


class AsyncBankRevisions:
    """Reads the revisions of a memory; of a deleted one too."""

    def __init__(self, names: AsyncBankNames, revisions: AsyncRevisions) -> None:
        self._names = names
        self._revisions = revisions

    async def get(
        self,
        *,
        name: str,
        config: OrDict[GetMemoryRevisionConfig] | None = None,
        timeout: float | None = None,
    ) -> MemoryRevision:
        """Reads one revision.

        Args:
            name: "<bank>/memories/<memory>/revisions/<number>".
            config: Empty.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such memory or revision.
        """
        GetMemoryRevisionConfig.read(config)
        asked = await self._names.revision(name)
        revision = await self._revisions.get(
            asked.memory_id, asked.revision, store=asked.store_id, timeout=timeout
        )
        return decode_revision(revision, asked)

    async def list(
        self,
        *,
        name: str,
        config: OrDict[ListMemoryRevisionsConfig] | None = None,
        timeout: float | None = None,
    ) -> AsyncBankPager[MemoryRevision]:
        """Lists the revisions of a memory, newest first.

        Args:
            name: "<bank>/memories/<memory>".
            config: Which, and how many a page.
            timeout: Seconds for each page.

        Raises:
            MemoryClientError: The filter cannot be read; the message says from which character on.
        """
        memory = await self._names.memory(name)
        given = ListMemoryRevisionsConfig.read(config)
        revisions = self._revisions.list(
            memory.memory_id,
            labels=read_label_filter(given.filter),
            page_size=given.page_size,
            page_token=given.page_token,
            store=memory.store_id,
            timeout=timeout,
        )
        return await AsyncBankPager.open(revisions.mapped(lambda each: decode_revision(each, memory)))
