"""Statements on stores. On the wire a store goes by its name; `store_id` is the tenant's key."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Text, and_, delete, exists, func, literal, select, tuple_
from sqlalchemy import update as update_of
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_tenant, is_live
from ricordo_server.db.connection import ProjectConnection, Row, TenantConnection
from ricordo_server.db.paging import fetch_page, order_keys, text_key, time_key
from ricordo_server.db.settings_rows import settings_column, store_settings_from
from ricordo_server.db.tables import memory, session, store
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.store import Store, StoreAccess, StoreDraft
from ricordo_server.domain.store_settings import StoreSettings

UNREAD = {"project_id", "store_id", "languages_in_use", "settings"}
STORED = [
    *(column for column in store.c if column.name not in UNREAD),
    store.c.settings.cast(Text).label("settings"),
]
ORDERS = {
    "store_id": text_key(store.c.name),
    "create_time": time_key(store.c.create_time),
    "update_time": time_key(store.c.update_time),
}


def store_from(row: Row) -> Store:
    return Store(
        store_id=row["name"],
        display_name=row["display_name"],
        description=row["description"],
        settings=store_settings_from(row["settings"], row["language"]),
        access=StoreAccess(row["access"]),
        creator_id=row["creator_id"],
        create_time=row["create_time"],
        update_time=row["update_time"],
    )


def _settings_columns(settings: StoreSettings) -> dict[str, Any]:
    return {"language": settings.language, "settings": settings_column(settings)}


async def create_store(
    connection: ProjectConnection, project_id: UUID, store_id: UUID, draft: StoreDraft, creator_id: str
) -> bool:
    """Inserts a store, in no language yet: the first write says it. False when the project has one of the name."""
    columns: dict[str, Any] = {
        "project_id": project_id,
        "store_id": store_id,
        "name": draft.store_id,
        "display_name": draft.display_name,
        "description": draft.description,
        **_settings_columns(draft.settings),
        "access": draft.access,
        "languages_in_use": [],
        "creator_id": creator_id,
    }
    statement = upsert(store).values(columns).on_conflict_do_nothing().returning(store.c.name)
    return await connection.fetch_one(statement) is not None


def _is(connection: ProjectConnection, name: str) -> ColumnElement[bool]:
    return and_(store.c.project_id == connection.project_id, store.c.name == name)


async def get_store(connection: ProjectConnection, name: str, *, lock: bool = False) -> Store | None:
    """With `lock`, other changes of it wait."""
    statement = select(*STORED).where(_is(connection, name))
    row = await connection.fetch_one(statement.with_for_update(key_share=True) if lock else statement)
    return store_from(row) if row else None


async def list_stores(
    connection: ProjectConnection, order_by: Sequence[OrderBy], page: PageRequest
) -> Page[Store]:
    keys = [*order_keys(order_by, ORDERS, [OrderBy("store_id")]), text_key(store.c.name)]
    statement = select(*STORED).where(store.c.project_id == connection.project_id)
    return await fetch_page(connection, statement, keys, page, store_from)


async def list_all_stores(
    connection: ProjectConnection, after: tuple[UUID, str] | None, *, most: int
) -> list[tuple[UUID, str]]:
    """Projects and names of the stores behind `after`, of all projects in order; as operator."""
    statement = (
        select(store.c.project_id, store.c.name).order_by(store.c.project_id, store.c.name).limit(most)
    )
    if after is not None:
        statement = statement.where(tuple_(store.c.project_id, store.c.name) > after)
    return [(row["project_id"], row["name"]) for row in await connection.fetch_all(statement)]


async def update_store(
    connection: ProjectConnection, name: str, changes: Mapping[str, str], settings: StoreSettings
) -> Store | None:
    """The clock, not now(): a writer that waited for another must not be stamped before it."""
    columns = {**changes, **_settings_columns(settings), "update_time": func.clock_timestamp()}
    statement = update_of(store).where(_is(connection, name)).values(columns).returning(*STORED)
    row = await connection.fetch_one(statement)
    return store_from(row) if row else None


async def use_language(connection: TenantConnection) -> None:
    """Makes searches of the store cover the language that rows are written in from now on; any writer may."""
    await connection.execute(select(func.ricordo.use_language(connection.language)))


async def lock_store(connection: TenantConnection) -> bool:
    """Waits for every writer that made a row in the store, and keeps new ones waiting; False when it is gone."""
    statement = select(store.c.name).where(in_tenant(store, connection)).with_for_update()
    return await connection.fetch_one(statement) is not None


async def store_is_empty(connection: TenantConnection) -> bool:
    """Deleted memories do not count."""
    memories = select(literal(1)).select_from(memory).where(in_tenant(memory, connection), is_live(memory))
    sessions = select(literal(1)).select_from(session).where(in_tenant(session, connection))
    row = await connection.fetch_one(select((exists(memories) | exists(sessions)).label("holds_rows")))
    return row is not None and not row["holds_rows"]


async def delete_store(connection: TenantConnection) -> None:
    """Removes the store with everything in it."""
    await connection.execute(delete(store).where(in_tenant(store, connection)))
