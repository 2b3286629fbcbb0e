"""Stores: their rules and transactions."""

from collections.abc import Sequence

from uuid_utils.compat import uuid7

from ricordo_server.app.permissions import check_may_manage
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, write_project
from ricordo_server.db import stores as stores_db
from ricordo_server.db.connection import ProjectConnection, enter_store
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.store import DEFAULT_STORE, Store, StoreChanges, StoreDraft, store_not_found


async def create_store(services: Services, call: Call, draft: StoreDraft) -> Store:
    """Makes an empty store.

    Raises:
        DomainError: ID_TAKEN, PERMISSION_DENIED.
    """
    check_may_manage(call.principal)

    async def work(connection: ProjectConnection) -> Store:
        creator_id = call.principal.principal_id
        if not await stores_db.create_store(connection, connection.project_id, uuid7(), draft, creator_id):
            message = f"the project has a store {draft.store_id!r}: choose another id, or use that one"
            raise DomainError(Reason.ID_TAKEN, message, "store.store_id")
        return await _read(connection, draft.store_id)

    return await write_project(services.database.pool, call, work)


async def _read(connection: ProjectConnection, store_id: str) -> Store:
    found = await stores_db.get_store(connection, store_id)
    if found is None:
        raise store_not_found(store_id)
    return found


async def get_store(services: Services, call: Call, store_id: str) -> Store:
    """Reads a store.

    Raises:
        DomainError: STORE_NOT_FOUND.
    """
    async with in_project(services.database.pool, call) as connection:
        return await _read(connection, store_id or DEFAULT_STORE)


async def list_stores(
    services: Services, call: Call, order_by: Sequence[OrderBy], page: PageRequest
) -> Page[Store]:
    async with in_project(services.database.pool, call) as connection:
        return await stores_db.list_stores(connection, order_by, page)


async def update_store(services: Services, call: Call, store_id: str, changes: StoreChanges) -> Store:
    """Changes the fields given. A new language is for rows written from now on; searches cover the old ones too.

    Raises:
        DomainError: STORE_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_manage(call.principal)

    async def work(connection: ProjectConnection) -> Store:
        written = await stores_db.update_store(connection, store_id, changes)
        if written is None:
            raise store_not_found(store_id)
        return written

    return await write_project(services.database.pool, call, work)


async def delete_store(services: Services, call: Call, store_id: str, *, force: bool) -> None:
    """Removes a store; with `force` also when it holds something.

    The transaction is the project's and enters the store only then: the repeat of a request id is answered although
    the store is gone.

    Raises:
        DomainError: STORE_NOT_FOUND, STORE_NOT_EMPTY, PERMISSION_DENIED, INVALID_FIELD (`default` stays).
    """
    check_may_manage(call.principal)
    if store_id == DEFAULT_STORE:
        message = "the store 'default' stays: every project has it; delete what it holds instead"
        raise invalid_field("store_id", message)

    async def work(connection: ProjectConnection) -> None:
        store = await enter_store(connection, store_id)
        if not await stores_db.lock_store(store):
            raise store_not_found(store_id)
        if not force and not await stores_db.store_is_empty(store):
            message = "the store holds memories or sessions: delete them first, or pass force"
            raise DomainError(Reason.STORE_NOT_EMPTY, message, "force")
        await stores_db.delete_store(store)

    await write_project(services.database.pool, call, work)
