"""Lists of a memory bank: the first page is there when the call returns."""

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from ricordo._async.pager import AsyncPager
from ricordo.models import Page

Item = TypeVar("Item")


class AsyncBankPager(Generic[Item]):
    """A list of any length: `page` is the page at hand, iterating goes on through those behind it.

    Length and indexes are those of the page at hand. Each iteration starts at it anew.
    """

    def __init__(self, source: AsyncPager[Item], page: Page[Item]) -> None:
        self._source = source
        self._page = page

    @classmethod
    async def open(cls, source: AsyncPager[Item]) -> "AsyncBankPager[Item]":
        """Fetches the first page."""
        return cls(source, await source.fetch_page())

    @property
    def page(self) -> list[Item]:
        """The page at hand."""
        return list(self._page.items)

    @property
    def page_size(self) -> int:
        """How many are on it."""
        return len(self._page.items)

    @property
    def next_page_token(self) -> str:
        """Continues the list in another call; empty on the last page."""
        return self._page.next_page_token

    async def next_page(self) -> list[Item]:
        """Fetches the page behind the one at hand, which it becomes.

        Raises:
            IndexError: This is the last page.
        """
        if not self._page.next_page_token:
            raise IndexError("this is the last page")
        self._page = await self._source.fetch_page(self._page.next_page_token)
        return self.page

    def __len__(self) -> int:
        return len(self._page.items)

    def __getitem__(self, index: int) -> Item:
        return self._page.items[index]

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self._source.pages_from(self._page):
            for item in page.items:
                yield item
