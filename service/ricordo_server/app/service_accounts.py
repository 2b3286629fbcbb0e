"""Service accounts: made, changed and ended by the project's admins."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

from uuid_utils.compat import uuid7

from ricordo_server.app.permissions import check_may_administer
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, write_project
from ricordo_server.db import audit as audit_db
from ricordo_server.db import service_accounts as accounts_db
from ricordo_server.db.connection import ProjectConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.principal import Role
from ricordo_server.domain.service_account import (
    AccountDraft,
    ClientId,
    NewSecret,
    ServiceAccount,
    account_not_found,
)


async def create_account(services: Services, call: Call, draft: AccountDraft) -> NewSecret:
    """Makes an account with a secret, which only this answer holds.

    Raises:
        DomainError: ID_TAKEN, PERMISSION_DENIED.
    """
    check_may_administer(call.principal)
    secret = await services.hashing.make()

    async def work(connection: ProjectConnection) -> NewSecret:
        account_id = uuid7()
        if not await accounts_db.create_account(connection, account_id, draft, call.principal.principal_id):
            message = (
                f"the project has a service account {draft.name!r}: choose another name, or rotate its secret"
            )
            raise DomainError(Reason.ID_TAKEN, message, "service_account.name")
        await accounts_db.add_secret(connection, account_id, secret.secret_id, secret.hash)
        await _record(connection, call, "CreateServiceAccount", account_id)
        return NewSecret(await _read(connection, account_id), secret.text)

    return await write_project(services.database.pool, call, work)


async def _record(connection: ProjectConnection, call: Call, action: str, account_id: UUID) -> None:
    client_id = ClientId(connection.project_id, account_id)
    await audit_db.write_record(connection, call.principal, action, str(client_id))


async def rotate_secret(
    services: Services, call: Call, client_id: ClientId | None, overlap: timedelta
) -> NewSecret:
    """Adds a secret; the one before is good for `overlap` more, any older one ends now.

    Raises:
        DomainError: SERVICE_ACCOUNT_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_administer(call.principal)
    account_id = _account_id(call, client_id)
    secret = await services.hashing.make()

    async def work(connection: ProjectConnection) -> NewSecret:
        if not await accounts_db.lock_account(connection, account_id):
            raise account_not_found()
        await accounts_db.expire_secrets(connection, account_id, overlap)
        await accounts_db.add_secret(connection, account_id, secret.secret_id, secret.hash)
        await _record(connection, call, "RotateSecret", account_id)
        return NewSecret(await _read(connection, account_id), secret.text)

    return await write_project(services.database.pool, call, work)


def _account_id(call: Call, client_id: ClientId | None) -> UUID:
    """Of another project, or none at all: as absent."""
    if client_id is None or client_id.project_id != call.principal.project_id:
        raise account_not_found()
    return client_id.account_id


async def _read(connection: ProjectConnection, account_id: UUID) -> ServiceAccount:
    found = await accounts_db.get_account(connection, account_id)
    if found is None:
        raise account_not_found()
    return found


async def list_accounts(services: Services, call: Call, page: PageRequest) -> Page[ServiceAccount]:
    """By name.

    Raises:
        DomainError: PERMISSION_DENIED.
    """
    check_may_administer(call.principal)
    async with in_project(services.database.pool, call) as connection:
        return await accounts_db.list_accounts(connection, page)


async def set_disabled(
    services: Services, call: Call, client_id: ClientId | None, *, is_disabled: bool
) -> ServiceAccount:
    """Disables or enables: its tokens, and those of end users that it issued, end within a minute.

    Raises:
        DomainError: SERVICE_ACCOUNT_NOT_FOUND, PERMISSION_DENIED.
    """
    return await _change(
        services,
        call,
        client_id,
        "DisableServiceAccount" if is_disabled else "EnableServiceAccount",
        lambda connection, account_id: accounts_db.update_account(
            connection, account_id, is_disabled=is_disabled
        ),
    )


async def update_role(
    services: Services, call: Call, client_id: ClientId | None, role: Role
) -> ServiceAccount:
    """Gives another role, which tokens that are out have within a minute.

    Raises:
        DomainError: SERVICE_ACCOUNT_NOT_FOUND, PERMISSION_DENIED.
    """
    return await _change(
        services,
        call,
        client_id,
        "UpdateServiceAccount",
        lambda connection, account_id: accounts_db.update_account(connection, account_id, role=role),
    )


async def _change(
    services: Services,
    call: Call,
    client_id: ClientId | None,
    action: str,
    change: Callable[[ProjectConnection, UUID], Awaitable[bool]],
) -> ServiceAccount:
    check_may_administer(call.principal)
    account_id = _account_id(call, client_id)

    async def work(connection: ProjectConnection) -> ServiceAccount:
        if not await change(connection, account_id):
            raise account_not_found()
        await _record(connection, call, action, account_id)
        return await _read(connection, account_id)

    return await write_project(services.database.pool, call, work)


async def delete_account(services: Services, call: Call, client_id: ClientId | None) -> None:
    """Ends an account for good.

    Raises:
        DomainError: SERVICE_ACCOUNT_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_administer(call.principal)
    account_id = _account_id(call, client_id)

    async def work(connection: ProjectConnection) -> None:
        if not await accounts_db.delete_account(connection, account_id):
            raise account_not_found()
        await _record(connection, call, "DeleteServiceAccount", account_id)

    await write_project(services.database.pool, call, work)
