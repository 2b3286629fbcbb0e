"""Stores: their rules and transactions."""

from collections.abc import Sequence
from dataclasses import replace

from uuid_utils.compat import uuid7

from ricordo_server.app.endpoints import check_endpoint
from ricordo_server.app.permissions import (
    check_may_change,
    check_may_configure,
    check_may_grant,
    check_may_manage,
)
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, write_project
from ricordo_server.db import audit as audit_db
from ricordo_server.db import grants as grants_db
from ricordo_server.db import stores as stores_db
from ricordo_server.db.connection import ProjectConnection, enter_store
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.store import (
    DEFAULT_STORE,
    Grant,
    GrantDraft,
    Store,
    StoreChanges,
    StoreDraft,
    store_not_found,
)
from ricordo_server.domain.store_settings import StoreSettings


async def create_store(services: Services, call: Call, draft: StoreDraft) -> Store:
    """Makes an empty store.

    Raises:
        DomainError: ID_TAKEN, PERMISSION_DENIED, INVALID_FIELD (an endpoint that is not set up).
    """
    check_may_manage(call.principal)
    check_endpoints(services, draft.settings)

    async def work(connection: ProjectConnection) -> Store:
        creator_id = call.principal.principal_id
        if not await stores_db.create_store(connection, connection.project_id, uuid7(), draft, creator_id):
            message = f"the project has a store {draft.store_id!r}: choose another id, or use that one"
            raise DomainError(Reason.ID_TAKEN, message, "store.store_id")
        await audit_db.write_record(connection, call.principal, "CreateStore", draft.store_id)
        return await _read(connection, draft.store_id)

    return await write_project(services.database.pool, call, work)


async def _read(connection: ProjectConnection, store_id: str, *, lock: bool = False) -> Store:
    found = await stores_db.get_store(connection, store_id, lock=lock)
    if found is None:
        raise store_not_found(store_id)
    return found


def check_endpoints(services: Services, settings: StoreSettings) -> None:
    """Raises DomainError: INVALID_FIELD."""
    field = "store.settings"
    check_endpoint(services, settings.extraction, f"{field}.extraction")
    for number, each in enumerate(settings.scoped_extraction):
        check_endpoint(services, each.extraction, f"{field}.scoped_extraction[{number}].extraction")


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
        DomainError: STORE_NOT_FOUND, PERMISSION_DENIED, INVALID_FIELD (an endpoint that is not set up).
    """
    check_may_manage(call.principal)
    check_endpoints(services, StoreSettings(**changes.settings))  # type: ignore[arg-type]

    async def work(connection: ProjectConnection) -> Store:
        current = await _read(connection, store_id, lock=True)
        check_may_change(call.principal, current)
        if "access" in changes.fields:
            check_may_grant(call.principal, current)
        if changes.settings.keys() - {"language"}:
            check_may_configure(call.principal, current)
        settings = replace(current.settings, **changes.settings)  # type: ignore[arg-type]
        written = await stores_db.update_store(connection, store_id, changes.fields, settings)
        if written is None:
            raise store_not_found(store_id)
        changed = f"{store_id}: {', '.join(changes.names)}"
        await audit_db.write_record(connection, call.principal, "UpdateStore", changed)
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
        check_may_change(call.principal, await _read(connection, store_id))
        store = await enter_store(connection, store_id)
        if not await stores_db.lock_store(store):
            raise store_not_found(store_id)
        if not force and not await stores_db.store_is_empty(store):
            message = "the store holds memories or sessions: delete them first, or pass force"
            raise DomainError(Reason.STORE_NOT_EMPTY, message, "force")
        await stores_db.delete_store(store)
        await audit_db.write_record(connection, call.principal, "DeleteStore", store_id)

    await write_project(services.database.pool, call, work)


async def grant_access(services: Services, call: Call, draft: GrantDraft) -> Grant:
    """Lets a principal use the store while it is restricted.

    Raises:
        DomainError: STORE_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_manage(call.principal)

    async def work(connection: ProjectConnection) -> Grant:
        check_may_grant(call.principal, await _read(connection, draft.store_id))
        granted = await grants_db.grant_access(connection, draft)
        if granted is None:
            raise store_not_found(draft.store_id)
        subject = f"{draft.store_id}: {draft.principal_id} {draft.access}"
        await audit_db.write_record(connection, call.principal, "GrantAccess", subject)
        return granted

    return await write_project(services.database.pool, call, work)


async def revoke_access(services: Services, call: Call, store_id: str, principal_id: str) -> None:
    """Takes a grant back, if there is one.

    Raises:
        DomainError: STORE_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_manage(call.principal)

    async def work(connection: ProjectConnection) -> None:
        check_may_grant(call.principal, await _read(connection, store_id))
        if await grants_db.revoke_access(connection, store_id, principal_id):
            subject = f"{store_id}: {principal_id}"
            await audit_db.write_record(connection, call.principal, "RevokeAccess", subject)

    await write_project(services.database.pool, call, work)


async def list_grants(services: Services, call: Call, store_id: str, page: PageRequest) -> Page[Grant]:
    """By principal.

    Raises:
        DomainError: STORE_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_manage(call.principal)
    async with in_project(services.database.pool, call) as connection:
        check_may_grant(call.principal, await _read(connection, store_id))
        return await grants_db.list_grants(connection, store_id, page)
