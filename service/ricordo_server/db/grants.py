"""Statements on grants: who may use a restricted store."""

from sqlalchemy import and_, delete, literal, select
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.connection import ProjectConnection, Row
from ricordo_server.db.paging import fetch_page, text_key
from ricordo_server.db.tables import store, store_grant
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.store import Grant, GrantDraft, GrantedAccess

GRANTED = [store_grant.c.principal_id, store_grant.c.access, store_grant.c.create_time]
OF_STORE = and_(store.c.project_id == store_grant.c.project_id, store.c.store_id == store_grant.c.store_id)


async def grant_access(connection: ProjectConnection, draft: GrantDraft) -> Grant | None:
    """Writes the grant, or changes how far it goes; None when the store is gone."""
    values = select(
        store.c.project_id,
        store.c.store_id,
        literal(draft.principal_id).label("principal_id"),
        store.c.creator_id,
        literal(draft.access).label("access"),
    ).where(store.c.project_id == connection.project_id, store.c.name == draft.store_id)
    names = ("project_id", "store_id", "principal_id", "store_creator_id", "access")
    statement = upsert(store_grant).from_select(names, values)
    statement = statement.on_conflict_do_update(
        index_elements=names[:3], set_={"access": statement.excluded.access}
    )
    row = await connection.fetch_one(statement.returning(*GRANTED))
    return _grant_from(row, draft.store_id) if row else None


def _grant_from(row: Row, store_id: str) -> Grant:
    return Grant(store_id, row["principal_id"], GrantedAccess(row["access"]), row["create_time"])


async def revoke_access(connection: ProjectConnection, store_id: str, principal_id: str) -> bool:
    """Whether there was a grant."""
    statement = delete(store_grant).where(
        OF_STORE,
        store.c.project_id == connection.project_id,
        store.c.name == store_id,
        store_grant.c.project_id == connection.project_id,
        store_grant.c.principal_id == principal_id,
    )
    return (await connection.execute(statement)).rowcount > 0


async def list_grants(connection: ProjectConnection, store_id: str, page: PageRequest) -> Page[Grant]:
    """By principal."""
    statement = (
        select(*GRANTED)
        .join(store, OF_STORE)
        .where(
            store_grant.c.project_id == connection.project_id,
            store.c.project_id == connection.project_id,
            store.c.name == store_id,
        )
    )
    keys = [text_key(store_grant.c.principal_id)]
    return await fetch_page(connection, statement, keys, page, lambda row: _grant_from(row, store_id))
