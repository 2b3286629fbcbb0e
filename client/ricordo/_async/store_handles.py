"""Stores as handles, whatever they are containers of: what memory stores and session stores have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, Self, TypeVar

from ricordo import models
from ricordo._async.pager import AsyncPager
from ricordo._async.stores import AsyncStores
from ricordo._convert.store_entries import page_size_of, store_id_of


@dataclass(frozen=True)
class AsyncStoreHandle:
    """A store, and what is done with the whole of it."""

    _stores: AsyncStores = field(repr=False)
    record: models.Store

    @property
    def description(self) -> str:
        """What it is for."""
        return self.record.description

    @property
    def creator_user_id(self) -> str:
        """The principal that made it, for attribution."""
        return self.record.creator_id

    @property
    def create_time(self) -> datetime:
        """When it was made, in UTC."""
        return self.record.create_time

    @property
    def update_time(self) -> datetime:
        """When it was changed last, in UTC."""
        return self.record.update_time

    async def update(self, *, description: str | None = None, timeout: float | None = None) -> Self:
        """Changes the description; "" clears it.

        Raises:
            MemoryClientError: Nothing is given.
        """
        store = await self._stores.update(self.record.store_id, description=description, timeout=timeout)
        return replace(self, record=store)

    async def delete(self, *, timeout: float | None = None) -> None:
        """Deletes the store with everything in it, sessions and entries."""
        await self._stores.delete(self.record.store_id, force=True, timeout=timeout)

    async def grant_permission(
        self, principal: str, permission: str = "WRITE", *, timeout: float | None = None
    ) -> None:
        """Lets a service account use the store: "READ" or "WRITE"."""
        await self._stores.grant(self.record.store_id, principal, access=permission, timeout=timeout)


Handle = TypeVar("Handle", bound=AsyncStoreHandle)


class AsyncStoreHandles(ABC, Generic[Handle]):
    """Creates, finds and lists stores."""

    def __init__(self, stores: AsyncStores) -> None:
        self._stores = stores

    @abstractmethod
    def _handle(self, store: models.Store) -> Handle: ...

    async def create(
        self, store_id: str, *, description: str | None = None, timeout: float | None = None
    ) -> Handle:
        """Creates a store that only its creator, the project's admins and those with a grant can use.

        Args:
            store_id: 3 to 56 of `[a-z0-9-]`, first a letter, last no hyphen; cannot be changed.
            description: What it is for, at most 8 KiB.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The id is taken.
        """
        access = models.StoreAccess.RESTRICTED
        store = await self._stores.create(
            store_id_of(store_id), description=description or "", access=access, timeout=timeout
        )
        return self._handle(store)

    async def get(self, store_id: str, *, timeout: float | None = None) -> Handle:
        """Finds a store.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        return self._handle(await self._stores.get(store_id_of(store_id), timeout=timeout))

    def list(
        self, *, page_size: int | None = None, page_token: str = "", timeout: float | None = None
    ) -> AsyncPager[Handle]:
        """Lists the stores that the credential may see, by id; nothing is fetched until iterated.

        Args:
            page_size: Stores fetched at a time, 1 to 100; None: 10.
            page_token: Where to continue.
            timeout: Seconds for each page.

        Raises:
            MemoryClientError: `page_size` is out of range.
        """
        stores = self._stores.list(page_size=page_size_of(page_size), page_token=page_token, timeout=timeout)
        return stores.mapped(self._handle)
