"""The containers of a project: `client.stores`."""

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert import grants
from ricordo._convert import projects as requests
from ricordo._convert.paging import at_page
from ricordo._convert.projects import decode_store


class AsyncStores:
    """Creates, reads, changes and deletes stores.

    A `request_id` (at most 128 characters, kept 24 hours) makes a repeat by the caller safe; without one, each call
    makes its own. `timeout` is in seconds, retries included (None: the client's). Failures are `MemoryAPIError`s.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(
        self,
        store_id: str,
        *,
        display_name: str = "",
        description: str = "",
        language: str | None = None,
        access: models.StoreAccess | str | None = None,
        settings: models.StoreSettings | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Store:
        """Creates a store.

        Args:
            store_id: 3 to 56 of `[a-z0-9-]`, first a letter, last no hyphen.
            display_name: A name for people, at most 512 bytes.
            description: What it is for, at most 8 KiB.
            language: That of its text search, as PostgreSQL names it, or "simple"; None: the project's.
            access: "open" (None) to the project, or "restricted" to oneself, administrators and grants.
            settings: What it has of its own: how turns become memories, how long these are kept.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The id is taken.
        """
        request = requests.create_store_request(
            store_id,
            display_name=display_name,
            description=description,
            language=language,
            access=access,
            settings=settings,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.stores.CreateStore, request, timeout)
        return decode_store(reply.store)

    async def get(self, store_id: str | None = None, *, timeout: float | None = None) -> models.Store:
        """Reads a store; without an id, `default`.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.get_store_request(store_id)
        reply = await self._connection.call(lambda stubs: stubs.stores.GetStore, request, timeout)
        return decode_store(reply.store)

    def list(
        self,
        *,
        order_by: str = "",
        page_size: int | None = None,
        page_token: str = "",
        timeout: float | None = None,
    ) -> AsyncPager[models.Store]:
        """Lists the stores of the project; nothing is fetched until iterated.

        Args:
            order_by: Of store_id (default), create_time and update_time.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            timeout: Seconds for each page.
        """
        request = requests.list_stores_request(order_by=order_by, page_size=page_size)

        async def fetch(token: str) -> models.Page[models.Store]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.stores.ListStores, asked, timeout)
            return models.Page(tuple(map(decode_store, reply.stores)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def update(
        self,
        store_id: str,
        *,
        display_name: str | None = None,
        description: str | None = None,
        language: str | None = None,
        access: models.StoreAccess | str | None = None,
        settings: models.StoreSettings | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Store:
        """Changes what is given; a `language` of "" inherits the project's again.

        Of `settings`, each field that is given to its constructor takes the place of what the store has:
        `StoreSettings(extraction=None)` inherits the project's again.

        Raises:
            MemoryClientError: Nothing is given.
            MemoryAuthError: The store is restricted, or its access is to change, and is another's.
            NotFoundError: There is no such store.
        """
        request = requests.update_store_request(
            store_id,
            display_name=display_name,
            description=description,
            language=language,
            access=access,
            settings=settings,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.stores.UpdateStore, request, timeout)
        return decode_store(reply.store)

    async def delete(
        self,
        store_id: str,
        *,
        force: bool = False,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Deletes a store.

        Args:
            store_id: The store.
            force: With everything it holds.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            StoreNotEmptyError: It holds memories or sessions, and `force` is not given.
            NotFoundError: There is no such store.
        """
        request = requests.delete_store_request(store_id, force=force, request_id=request_id)
        await self._connection.call(lambda stubs: stubs.stores.DeleteStore, request, timeout)

    async def grant(
        self,
        store_id: str,
        principal_id: str,
        access: models.GrantedAccess | str,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.StoreGrant:
        """Lets a principal use a store while it is restricted; for the creator of the store and administrators.

        Args:
            store_id: The store.
            principal_id: The principal, as `client.identity.who_am_i` names it.
            access: "read", or "write" for both.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such store.
            MemoryAuthError: It is another's.
        """
        request = grants.grant_access_request(store_id, principal_id, access, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.stores.GrantAccess, request, timeout)
        return grants.decode_grant(reply.grant)

    async def revoke(
        self,
        store_id: str,
        principal_id: str,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Takes a grant back, if there is one; for the store's creator and administrators.

        Raises:
            NotFoundError: There is no such store.
            MemoryAuthError: It is another's.
        """
        request = grants.revoke_access_request(store_id, principal_id, request_id=request_id)
        await self._connection.call(lambda stubs: stubs.stores.RevokeAccess, request, timeout)

    def list_grants(
        self,
        store_id: str,
        *,
        page_size: int | None = None,
        page_token: str = "",
        timeout: float | None = None,
    ) -> AsyncPager[models.StoreGrant]:
        """Lists the grants of a store by principal; nothing is fetched until iterated.

        Args:
            store_id: The store.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            timeout: Seconds for each page.
        """
        request = grants.list_grants_request(store_id, page_size=page_size)

        async def fetch(token: str) -> models.Page[models.StoreGrant]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.stores.ListGrants, asked, timeout)
            return models.Page(tuple(map(grants.decode_grant, reply.grants)), reply.next_page_token)

        return AsyncPager(fetch, page_token)
