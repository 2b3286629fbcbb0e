"""Lists that fetch their pages when they are needed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

from ricordo.models import Page

Item = TypeVar("Item", covariant=True)
Other = TypeVar("Other")


class AsyncPager(Generic[Item]):
    """A list of any length: iterate over its items, or over `pages()`.

    Nothing is fetched before the first item is asked for, and no page before its first item is. Each iteration
    starts anew.
    """

    def __init__(self, fetch: Callable[[str], Awaitable[Page[Item]]], page_token: str) -> None:
        self._fetch = fetch
        self._page_token = page_token

    def mapped(self, change: Callable[[Item], Other]) -> "AsyncPager[Other]":
        """The same list with each item changed."""

        async def fetch(token: str) -> Page[Other]:
            page = await self._fetch(token)
            return Page(tuple(map(change, page.items)), page.next_page_token)

        return AsyncPager(fetch, self._page_token)

    async def fetch_page(self, page_token: str = "") -> Page[Item]:
        """One page: that of a token, or the first.

        Raises:
            MemoryAPIError: The call failed.
        """
        return await self._fetch(page_token or self._page_token)

    async def pages(self) -> AsyncIterator[Page[Item]]:
        """The pages, one call for each.

        Raises:
            MemoryAPIError: A call failed.
        """
        async for page in self.pages_from(await self.fetch_page()):
            yield page

    async def pages_from(self, page: Page[Item]) -> AsyncIterator[Page[Item]]:
        """A page that is at hand, and those behind it."""
        yield page
        while page.next_page_token:
            page = await self._fetch(page.next_page_token)
            yield page

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page.items:
                yield item
