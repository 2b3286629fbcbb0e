"""Statements on sessions. A session is found by the key of its exact scope."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import ColumnElement, and_, bindparam, delete, false, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_scope, in_tenant, one_of
from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.filters import compile_filter
from ricordo_server.db.paging import bytes_of, fetch_page, order_keys, text_key, time_key
from ricordo_server.db.rows import scope_columns, scope_from
from ricordo_server.db.tables import extraction, session, snapshot
from ricordo_server.domain.metadata import Metadata, decode_metadata, encode_metadata
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.promotion import PromotionTriggers
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import Session, SessionDraft, SessionQuery
from ricordo_server.domain.snapshot import ExtractionState

ORDERS = {
    "create_time": time_key(session.c.create_time),
    "update_time": time_key(session.c.update_time),
    "last_activity_time": time_key(session.c.last_activity_time),
    "session_id": text_key(session.c.session_id),
}

WEIGHT = bytes_of(session.c.metadata)

KEY_COLUMNS = ("project_id", "store_id", "scope_key")
SNAPSHOT_KEY = ("project_id", "store_id", "snapshot_id")
OF_EVERY_SESSION = (*KEY_COLUMNS, "user_id", "session_id", "labels")
NEW = {name: bindparam(f"new_{name}", type_=session.c[name].type) for name in OF_EVERY_SESSION}
NEW_RULE = bindparam("new_rule", type_=session.c.trigger_rule.type)
# A conflicting row is locked before WHERE is asked, so this locks without writing a version of it.
LOCK = (
    upsert(session)
    .values({**NEW, "root_session_id": NEW["session_id"]})
    .on_conflict_do_update(index_elements=KEY_COLUMNS, set_={"next_seq": session.c.next_seq}, where=false())
)
PARENT = session.alias("parent")
# The watermark stands before the first snapshot of which some kind is not done.
FIRST_UNDONE = (
    select(func.min(snapshot.c.from_seq))
    .select_from(snapshot)
    .join(extraction, and_(*(extraction.c[name] == snapshot.c[name] for name in SNAPSHOT_KEY)))
    .where(*(snapshot.c[name] == session.c[name] for name in KEY_COLUMNS))
    .where(extraction.c.state != ExtractionState.DONE)
    .correlate(session)
    .scalar_subquery()
)
READ = [*session.c, func.coalesce(FIRST_UNDONE - 1, session.c.promoted_seq).label("extracted_seq")]


def _parameters(connection: TenantConnection, scope: Scope) -> Row:
    columns = {**connection.key, **scope_columns(scope), "labels": Jsonb(dict(scope.labels))}
    return {f"new_{name}": value for name, value in columns.items()}


def _new_rule(rule: PromotionTriggers | None) -> Row:
    return {"new_rule": None if rule is None else Jsonb(asdict(rule))}


def session_from(row: Row, connection: TenantConnection) -> Session:
    return Session(
        store_id=connection.store_name,
        scope=scope_from(row),
        parent_session_id=row["parent_session_id"],
        root_session_id=row["root_session_id"],
        metadata=decode_metadata(row["metadata"]),
        create_time=row["create_time"],
        update_time=row["update_time"],
        last_activity_time=row["last_activity_time"],
        last_turn_seq=row["next_seq"] - 1,
        promoted_seq=row["promoted_seq"],
        extracted_seq=row["extracted_seq"],
        trigger_rule=PromotionTriggers(**row["trigger_rule"]) if row["trigger_rule"] else None,
    )


async def create_session(connection: TenantConnection, draft: SessionDraft) -> Session | None:
    """Inserts the session; None when its exact scope has one."""
    statement = (
        upsert(session)
        .values(
            {
                **NEW,
                "parent_session_id": draft.parent_session_id,
                "root_session_id": _root(connection, draft),
                "metadata": bindparam("new_metadata", type_=session.c.metadata.type),
                "trigger_rule": NEW_RULE,
            }
        )
        .on_conflict_do_nothing()
        .returning(*READ)
    )
    given = {"new_metadata": Jsonb(encode_metadata(draft.metadata)), **_new_rule(draft.trigger_rule)}
    row = await connection.fetch_one(statement, {**_parameters(connection, draft.scope), **given})
    return session_from(row, connection) if row else None


def _root(connection: TenantConnection, draft: SessionDraft) -> ColumnElement[str]:
    """The parent's root when the parent is known among the same user's and labels' sessions."""
    if not draft.parent_session_id:
        return literal(draft.scope.session_id)
    parent_scope = Scope(draft.scope.user_id, draft.parent_session_id, draft.scope.labels)
    known = select(PARENT.c.root_session_id).where(
        in_tenant(PARENT, connection), PARENT.c.scope_key == parent_scope.key
    )
    return func.coalesce(known.scalar_subquery(), draft.parent_session_id)


async def lock_session(connection: TenantConnection, scope: Scope) -> None:
    """Creates the session if it is new, and holds it until the transaction ends."""
    await connection.execute(LOCK, _parameters(connection, scope))


async def lock_known_session(connection: TenantConnection, scope: Scope) -> bool:
    """Holds the session until the transaction ends; False when there is none."""
    statement = select(session.c.scope_key).where(_is(connection, scope)).with_for_update()
    return await connection.fetch_one(statement) is not None


def _is(connection: TenantConnection, scope: Scope) -> ColumnElement[bool]:
    return and_(in_tenant(session, connection), session.c.scope_key == scope.key)


async def get_session(connection: TenantConnection, scope: Scope) -> Session | None:
    row = await connection.fetch_one(select(*READ).where(_is(connection, scope)))
    return session_from(row, connection) if row else None


async def update_metadata(connection: TenantConnection, scope: Scope, metadata: Metadata) -> Session | None:
    """None when there is no such session."""
    new = bindparam("new_metadata", type_=session.c.metadata.type)
    statement = update(session).where(_is(connection, scope)).values(metadata=new, update_time=func.now())
    given = {"new_metadata": Jsonb(encode_metadata(metadata))}
    row = await connection.fetch_one(statement.returning(*READ), given)
    return session_from(row, connection) if row else None


async def move_behind(connection: TenantConnection, scope: Scope, last_seq: int) -> Session:
    """The next turn of a new session gets the number after this one."""
    statement = update(session).where(_is(connection, scope)).values(next_seq=last_seq + 1)
    row = await connection.fetch_one(statement.returning(*READ))
    assert row is not None  # noqa: S101 - this transaction made it
    return session_from(row, connection)


async def set_trigger_rule(
    connection: TenantConnection, scope: Scope, rule: PromotionTriggers | None
) -> None:
    """The session's own rule, or none; the session is held."""
    statement = update(session).where(_is(connection, scope)).values(trigger_rule=NEW_RULE)
    await connection.execute(statement, _new_rule(rule))


async def set_generation_options(connection: TenantConnection, scope: Scope, options: bytes) -> None:
    """What is said for the next snapshot of a session that is held."""
    statement = update(session).where(_is(connection, scope)).values(generation_options=options)
    await connection.execute(statement)


async def lock_children(connection: TenantConnection, scopes: Sequence[Scope]) -> list[Scope]:
    """Holds the sessions whose parent is one of these, which are all of one user and labels."""
    of = scopes[0]
    statement = (
        select(session.c.user_id, session.c.session_id, session.c.labels)
        .where(in_tenant(session, connection))
        .where(one_of(session.c.parent_session_id, [each.session_id or "" for each in scopes]))
        .where(session.c.user_id.is_not_distinct_from(of.user_id), session.c.labels == bindparam("of_labels"))
        .order_by(session.c.scope_key)
        .with_for_update()
    )
    rows = await connection.fetch_all(statement, {"of_labels": Jsonb(dict(of.labels))})
    return [scope_from(row) for row in rows]


async def delete_session(connection: TenantConnection, scope: Scope) -> None:
    await connection.execute(delete(session).where(_is(connection, scope)))


def matching(query: SessionQuery) -> ColumnElement[bool]:
    conditions: list[Any] = [in_scope(session, query.scope)]
    if query.filter is not None:
        conditions.append(compile_filter(query.filter, session))
    return and_(*conditions)


async def list_sessions(
    connection: TenantConnection, query: SessionQuery, order_by: Sequence[OrderBy], page: PageRequest
) -> Page[Session]:
    keys = order_keys(order_by, ORDERS, [OrderBy("last_activity_time", descending=True)])
    keys.append(text_key(session.c.scope_key))
    statement = select(*READ).where(in_tenant(session, connection), matching(query))
    return await fetch_page(
        connection, statement, keys, page, lambda row: session_from(row, connection), weight=WEIGHT
    )
