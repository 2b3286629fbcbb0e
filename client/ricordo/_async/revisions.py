"""What memories were before: `client.memories.revisions`."""

from collections.abc import Mapping

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert import memory_requests as requests
from ricordo._convert.memories import decode_revision
from ricordo._convert.paging import at_page


class AsyncRevisions:
    """Reads the revisions of a memory; of a deleted one too."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(
        self,
        memory_id: str,
        *,
        labels: Mapping[str, str] | None = None,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.MemoryRevision]:
        """Lists the revisions of a memory that are kept, newest first; nothing is fetched until iterated.

        Args:
            memory_id: The memory.
            labels: Only those with all of these.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            store: The store; None: `default`.
            timeout: Seconds for each page; None: the client's.
        """
        request = requests.list_revisions_request(
            memory_id, labels=labels or {}, page_size=page_size, store=store
        )

        async def fetch(token: str) -> models.Page[models.MemoryRevision]:
            asked = at_page(request, token)
            reply = await self._connection.call(
                lambda stubs: stubs.memories.ListMemoryRevisions, asked, timeout
            )
            return models.Page(tuple(map(decode_revision, reply.revisions)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def get(
        self, memory_id: str, revision: int, *, store: str | None = None, timeout: float | None = None
    ) -> models.MemoryRevision:
        """Reads one revision; they count from 1.

        Raises:
            NotFoundError: There is no such memory or revision.
        """
        request = requests.get_revision_request(memory_id, revision, store=store)
        reply = await self._connection.call(lambda stubs: stubs.memories.GetMemoryRevision, request, timeout)
        return decode_revision(reply.revision)
