"""Statements on service accounts and their secrets."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Exists,
    Interval,
    Uuid,
    and_,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.connection import ProjectConnection, Row
from ricordo_server.db.paging import fetch_page, text_key
from ricordo_server.db.tables import project, service_account, service_account_secret
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.principal import Role
from ricordo_server.domain.service_account import AccountDraft, ClientId, SecretInfo, ServiceAccount

STORED = list(service_account.c)
SECRET_INFO = [column for column in service_account_secret.c if column.name != "secret_hash"]
UNEXPIRED = or_(
    service_account_secret.c.expire_time.is_(None), service_account_secret.c.expire_time > func.now()
)


def account_from(row: Row, secrets: Sequence[SecretInfo] = ()) -> ServiceAccount:
    return ServiceAccount(
        client_id=ClientId(row["project_id"], row["account_id"]),
        name=row["name"],
        role=Role(row["role"]),
        is_disabled=row["is_disabled"],
        creator_id=row["creator_id"],
        create_time=row["create_time"],
        update_time=row["update_time"],
        last_use_time=row["last_use_time"],
        secrets=secrets,
    )


def _is(connection: ProjectConnection, account_id: UUID) -> ColumnElement[bool]:
    return and_(
        service_account.c.project_id == connection.project_id, service_account.c.account_id == account_id
    )


def _secrets_of(connection: ProjectConnection, account_ids: Sequence[UUID]) -> ColumnElement[bool]:
    return and_(
        service_account_secret.c.project_id == connection.project_id,
        service_account_secret.c.account_id == func.any(literal(list(account_ids), ARRAY(Uuid))),
    )


async def create_account(
    connection: ProjectConnection, account_id: UUID, draft: AccountDraft, creator_id: str
) -> bool:
    """Inserts an account without a secret. False when the project has one of the name."""
    statement = (
        upsert(service_account)
        .values(
            project_id=connection.project_id,
            account_id=account_id,
            name=draft.name,
            role=draft.role,
            creator_id=creator_id,
        )
        .on_conflict_do_nothing()
        .returning(service_account.c.account_id)
    )
    return await connection.fetch_one(statement) is not None


async def add_secret(
    connection: ProjectConnection, account_id: UUID, secret_id: str, secret_hash: str
) -> None:
    statement = insert(service_account_secret).values(
        project_id=connection.project_id,
        account_id=account_id,
        secret_id=secret_id,
        secret_hash=secret_hash,
    )
    await connection.execute(statement)


async def expire_secrets(connection: ProjectConnection, account_id: UUID, overlap: timedelta) -> None:
    """The newest secret stays good for `overlap`; those that were rotated out before end now."""
    of_account = _secrets_of(connection, [account_id])
    await connection.execute(
        delete(service_account_secret).where(of_account, service_account_secret.c.expire_time.is_not(None))
    )
    await connection.execute(
        update(service_account_secret)
        .where(of_account)
        .values(expire_time=func.now() + literal(overlap, Interval))
    )


async def lock_account(connection: ProjectConnection, account_id: UUID) -> bool:
    """Two rotations at once go one after the other; False when there is no such account."""
    statement = select(service_account.c.account_id).where(_is(connection, account_id)).with_for_update()
    return await connection.fetch_one(statement) is not None


async def get_account(connection: ProjectConnection, account_id: UUID) -> ServiceAccount | None:
    row = await connection.fetch_one(select(*STORED).where(_is(connection, account_id)))
    return (await _with_secrets(connection, [account_from(row)]))[0] if row else None


async def list_accounts(connection: ProjectConnection, page: PageRequest) -> Page[ServiceAccount]:
    """By name."""
    statement = select(*STORED).where(service_account.c.project_id == connection.project_id)
    keys = [text_key(service_account.c.name)]
    found = await fetch_page(connection, statement, keys, page, account_from)
    return Page(await _with_secrets(connection, found.items), found.positions, found.has_more)


async def _with_secrets(
    connection: ProjectConnection, accounts: Sequence[ServiceAccount]
) -> list[ServiceAccount]:
    ids = [account.client_id.account_id for account in accounts]
    statement = (
        select(*SECRET_INFO)
        .where(_secrets_of(connection, ids), UNEXPIRED)
        .order_by(service_account_secret.c.create_time.desc())
    )
    rows = await connection.fetch_all(statement) if ids else []
    return [replace(account, secrets=_secrets_in(rows, account)) for account in accounts]


def _secrets_in(rows: Sequence[Row], account: ServiceAccount) -> list[SecretInfo]:
    return [
        SecretInfo(row["secret_id"], row["create_time"], row["expire_time"])
        for row in rows
        if row["account_id"] == account.client_id.account_id
    ]


async def update_account(
    connection: ProjectConnection,
    account_id: UUID,
    *,
    role: Role | None = None,
    is_disabled: bool | None = None,
) -> bool:
    """Changes what is given; False when there is no such account."""
    given = {"role": role, "is_disabled": is_disabled}
    statement = (
        update(service_account)
        .where(_is(connection, account_id))
        .values({name: value for name, value in given.items() if value is not None})
        .values(update_time=func.clock_timestamp())
        .returning(service_account.c.account_id)
    )
    return await connection.fetch_one(statement) is not None


async def delete_account(connection: ProjectConnection, account_id: UUID) -> bool:
    """Removes it with its secrets; False when there is no such account."""
    statement = delete(service_account).where(_is(connection, account_id))
    return await connection.fetch_one(statement.returning(service_account.c.account_id)) is not None


async def find_hash(connection: ProjectConnection, account_id: UUID, secret_id: str) -> str | None:
    """The hash of a secret that is good now; None when there is none, or the account is disabled."""
    statement = (
        select(service_account_secret.c.secret_hash)
        .join(
            service_account,
            and_(
                service_account.c.project_id == service_account_secret.c.project_id,
                service_account.c.account_id == service_account_secret.c.account_id,
            ),
        )
        .where(
            _is(connection, account_id),
            _secrets_of(connection, [account_id]),
            service_account_secret.c.secret_id == secret_id,
            service_account.c.is_disabled.is_(False),
            UNEXPIRED,
        )
    )
    row = await connection.fetch_one(statement)
    return str(row["secret_hash"]) if row else None


async def find_role(connection: ProjectConnection, account_id: UUID) -> Role | None:
    """What the account may do now; None when it is gone or disabled, or its project closed."""
    statement = select(service_account.c.role).where(
        _is(connection, account_id), service_account.c.is_disabled.is_(False), _is_open(connection)
    )
    row = await connection.fetch_one(statement)
    return Role(row["role"]) if row else None


async def note_use(connection: ProjectConnection, account_id: UUID) -> Role | None:
    """Says that it obtained a token; what it may do, None when it is gone or disabled meanwhile."""
    row = await connection.fetch_one(select(func.ricordo.note_use(account_id).label("role")))
    return Role(row["role"]) if row and row["role"] else None


async def project_exists(connection: ProjectConnection) -> bool:
    row = await connection.fetch_one(select(_is_open(connection).label("found")))
    return row is not None and bool(row["found"])


def _is_open(connection: ProjectConnection) -> Exists:
    return exists().where(project.c.project_id == connection.project_id, project.c.close_time.is_(None))
