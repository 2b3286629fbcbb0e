"""Statements on memories. Each takes the tenant's connection first, runs one statement, maps the rows."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy import update as update_of
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql.elements import CompilerElement

from ricordo_server.db.conditions import has_embedding, in_scope, in_tenant, is_live, is_unexpired, one_of
from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.filters import compile_filter
from ricordo_server.db.memory_rows import changed_column, memory_columns, memory_from
from ricordo_server.db.narrowing import narrow
from ricordo_server.db.paging import OrderKey, bytes_of, fetch_page, order_keys, text_key, time_key
from ricordo_server.db.search import Searched
from ricordo_server.db.sql import load_sql
from ricordo_server.db.tables import memory, memory_embedding
from ricordo_server.domain.memory import Memory, MemoryChanges, MemoryDraft, MemoryKey, MemoryQuery
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.scope import Visibility
from ricordo_server.domain.shared_loop import in_slices

STORED = [column for column in memory.c if column.name != "tsv"]
SET_ON_INSERT = [
    column
    for column in STORED
    if column.name not in {"revision", "create_time", "update_time", "delete_time"}
]
NEW = {column.name: bindparam(f"new_{column.name}", type_=column.type) for column in SET_ON_INSERT}
HAS_EMBEDDING = has_embedding(memory, memory_embedding, "memory_id")
KEY_COLUMNS = ("project_id", "store_id", "kind", "custom_type", "scope_key", "key")
HAS_LIVE_KEY = and_(memory.c.key.is_not(None), memory.c.delete_time.is_(None))

FAR_FUTURE = datetime(9999, 12, 30, tzinfo=UTC)
ORDERS = {
    "create_time": time_key(memory.c.create_time),
    "update_time": time_key(memory.c.update_time),
    "event_time": time_key(func.coalesce(memory.c.event_time, memory.c.create_time)),
    "expire_time": time_key(
        func.coalesce(memory.c.expire_time, literal(FAR_FUTURE, memory.c.expire_time.type))
    ),
    "key": text_key(func.coalesce(memory.c.key, "").collate("C")),
    "title": text_key(memory.c.title.collate("C")),
}
WEIGHT = bytes_of(memory.c.content, memory.c.description, memory.c.details, memory.c.metadata)
DELETED_LAST = OrderKey(memory.c.delete_time.is_not(None), bool)

INSERT = upsert(memory).values(NEW).on_conflict_do_nothing().returning(*STORED)
# Whoever may not publish takes back what it deletes: a deleted row can still be listed by who may read it.
OF_DELETED = case(
    (func.current_setting("ricordo.may_publish").cast(Boolean), memory.c.visibility),
    else_=Visibility.PRIVATE,
)
# An expired row is gone for readers, so its key is free, though it is not swept yet.
RELEASE_EXPIRED_KEY = (
    update_of(memory)
    .where(*(memory.c[name] == NEW[name] for name in KEY_COLUMNS))
    .where(memory.c.delete_time.is_(None), not_(is_unexpired(memory)))
    .values(delete_time=memory.c.expire_time, visibility=OF_DELETED)
)


def _draft_parameters(connection: TenantConnection, memory_id: str, draft: MemoryDraft) -> Row:
    columns = memory_columns(connection, memory_id, draft)
    return {f"new_{name}": value for name, value in columns.items()}


async def insert_memories(
    connection: TenantConnection, drafts: Sequence[tuple[str, MemoryDraft]]
) -> list[Memory | None]:
    """Inserts each (id, draft); None where the id or the key is taken."""
    parameters = [_draft_parameters(connection, *draft) async for draft in in_slices(drafts)]
    # In one order for all writers, so that two of them never wait for each other.
    order = sorted(range(len(drafts)), key=lambda number: _place(*drafts[number]))
    if any(draft.key is not None for _, draft in drafts):
        await connection.execute_many(RELEASE_EXPIRED_KEY, [parameters[number] for number in order])
    rows = await connection.execute_many(INSERT, [parameters[number] for number in order])
    by_number = dict(zip(order, rows, strict=True))
    return [_as_stored(connection, by_number[number]) async for number in in_slices(range(len(drafts)))]


def _place(memory_id: str, draft: MemoryDraft) -> tuple[str, ...]:
    """The order of the unique key's own columns, then of the id."""
    return (str(draft.key), draft.kind, draft.custom_type, draft.scope.key, memory_id)


def _as_stored(
    connection: TenantConnection, row: Row | None, *, has_embedding: bool = False
) -> Memory | None:
    return memory_from({**row, "has_embedding": has_embedding}, connection) if row else None


async def put_memory(
    connection: TenantConnection,
    memory_id: str,
    draft: MemoryDraft,
    fields: Sequence[str],
    *,
    append: bool = False,
    expected_revision: int | None = None,
    prolong_to: datetime | None = None,
) -> Memory | None:
    """Inserts the draft, or changes `fields` of the live row with its key, which ends at `prolong_to` unless they
    say when.

    None when that row is at another revision, may not be written, or has the appended lines already.
    """
    parameters = _draft_parameters(connection, memory_id, draft)
    await connection.execute(RELEASE_EXPIRED_KEY, parameters)
    statement = _put(tuple(fields), append, expected_revision, prolong_to)
    row = await connection.fetch_one(statement, parameters)
    return _as_stored(connection, row)


def _put(
    fields: tuple[str, ...], append: bool, expected_revision: int | None, prolong_to: datetime | None
) -> CompilerElement:
    statement = upsert(memory).values(NEW)
    new = statement.excluded
    changes: dict[str, Any] = {name: new[name] for name in fields}
    conditions: list[ColumnElement[bool]] = []
    if prolong_to is not None:
        changes.setdefault("expire_time", prolong_to)
    if append:
        changes["content"] = _appended(new.content)
        conditions.append(not_(_has_lines(new.content)))
    if expected_revision is not None:
        conditions.append(memory.c.revision == expected_revision)
    return statement.on_conflict_do_update(
        index_elements=KEY_COLUMNS,
        index_where=HAS_LIVE_KEY,
        set_={**changes, **_next_revision()},
        where=and_(true(), *conditions),
    ).returning(*STORED)


def _next_revision() -> dict[str, ColumnElement[Any]]:
    """The clock, not now(): a writer that waited for another must not be stamped before it."""
    return {"revision": memory.c.revision + 1, "update_time": func.clock_timestamp()}


def _appended(lines: ColumnElement[str]) -> ColumnElement[str]:
    needs_break = and_(memory.c.content != "", func.right(memory.c.content, 1) != "\n")
    return memory.c.content.concat(case((needs_break, "\n"), else_="")).concat(lines)


def _has_lines(lines: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether the content has these whole lines already; no lines are always there."""
    wrapped = literal("\n").concat(func.rtrim(lines, "\n")).concat("\n")
    return or_(lines == "", func.strpos(literal("\n").concat(memory.c.content).concat("\n"), wrapped) > 0)


async def update_memory(
    connection: TenantConnection,
    memory_id: str,
    changes: MemoryChanges,
    expected_revision: int | None,
) -> Memory | None:
    """Changes a live memory; None when it is absent, at another revision, or not the principal's to write."""
    columns = {name: changed_column(name, value) for name, value in changes.items()}
    statement = _change(memory_id, connection, expected_revision).values(columns)
    row = await connection.fetch_one(statement.returning(*STORED, HAS_EMBEDDING), _model(connection))
    return memory_from(row, connection) if row else None


async def delete_memory(
    connection: TenantConnection, memory_id: str, expected_revision: int | None
) -> Memory | None:
    """Marks a live memory deleted; None as in `update_memory`."""
    statement = _change(memory_id, connection, expected_revision).values(
        delete_time=func.clock_timestamp(), visibility=OF_DELETED
    )
    return _as_stored(connection, await connection.fetch_one(statement.returning(*STORED)))


async def delete_memories(connection: TenantConnection, memory_ids: Sequence[str]) -> list[Memory]:
    """Marks those of them deleted that are live and may be written."""
    if not memory_ids:
        return []
    statement = (
        update_of(memory)
        .where(in_tenant(memory, connection), one_of(memory.c.memory_id, memory_ids), is_live(memory))
        .values({**_next_revision(), "delete_time": func.clock_timestamp(), "visibility": OF_DELETED})
    )
    rows = await connection.fetch_all(statement.returning(*STORED))
    return [memory_from({**row, "has_embedding": False}, connection) for row in rows]


async def restore_memory(
    connection: TenantConnection, memory_id: str, changes: MemoryChanges, expected_revision: int
) -> Memory | None:
    """As `update_memory`, of a deleted memory too, which is live then."""
    columns = {name: changed_column(name, value) for name, value in changes.items()}
    statement = (
        update_of(memory)
        .where(in_tenant(memory, connection), memory.c.memory_id == memory_id)
        .where(memory.c.revision == expected_revision, is_unexpired(memory))
        .values({**columns, **_next_revision(), "delete_time": None})
    )
    return _as_stored(connection, await connection.fetch_one(statement.returning(*STORED)))


def _change(memory_id: str, connection: TenantConnection, expected_revision: int | None) -> Update:
    statement = update_of(memory).where(in_tenant(memory, connection), memory.c.memory_id == memory_id)
    if expected_revision is not None:
        statement = statement.where(memory.c.revision == expected_revision)
    return statement.where(is_live(memory)).values(_next_revision())


async def purge_memory(connection: TenantConnection, memory_id: str, expected_revision: int | None) -> bool:
    """Removes a memory, deleted or not, with its revisions and vectors."""
    statement = delete(memory).where(in_tenant(memory, connection), memory.c.memory_id == memory_id)
    if expected_revision is not None:
        statement = statement.where(memory.c.revision == expected_revision)
    return await connection.fetch_one(statement.returning(memory.c.memory_id)) is not None


async def lock_matching(connection: TenantConnection, query: MemoryQuery, most: int) -> list[str]:
    """The ids of live memories that match and the principal may write, held until the transaction ends."""
    statement = (await _writable(connection, query)).limit(most)
    return [row["memory_id"] for row in await connection.fetch_all(statement)]


async def count_writable(connection: TenantConnection, query: MemoryQuery) -> int:
    """How many live memories match that the principal may write."""
    writable = (await _writable(connection, query)).subquery()
    row = await connection.fetch_one(select(func.count().label("count")).select_from(writable))
    return int(row["count"]) if row else 0


async def _writable(connection: TenantConnection, query: MemoryQuery) -> Select[Any]:
    """Locking asks the policy of writing, too."""
    if query.filter is not None:  # which index serves it depends on its values
        await connection.execute(load_sql("force_custom_plans"))
    condition = and_(matching(query), await narrow(connection, query.filter))
    statement = select(memory.c.memory_id).where(in_tenant(memory, connection), condition)
    return statement.order_by(memory.c.memory_id).with_for_update()


async def release_key(connection: TenantConnection, moved: Memory, key: str) -> None:
    """Takes a key of the same kind and scope from a row that is expired."""
    names = {"kind": moved.kind, "custom_type": moved.custom_type, "scope_key": moved.scope.key, "key": key}
    parameters = {f"new_{name}": value for name, value in {**connection.key, **names}.items()}
    await connection.execute(RELEASE_EXPIRED_KEY, parameters)


async def delete_expired(connection: TenantConnection, *, most: int) -> list[str]:
    """Marks memories deleted whose time is over; answers their ids. Those that others hold wait for the next time."""
    expired = select(memory.c.memory_id).where(
        in_tenant(memory, connection), memory.c.expire_time <= func.now(), memory.c.delete_time.is_(None)
    )
    ids = expired.limit(most).with_for_update(skip_locked=True)
    statement = (
        update_of(memory)
        .where(in_tenant(memory, connection), memory.c.memory_id.in_(ids))
        .values({**_next_revision(), "delete_time": func.clock_timestamp()})
    )
    return [row["memory_id"] for row in await connection.fetch_all(statement.returning(memory.c.memory_id))]


async def remove_deleted(connection: TenantConnection, *, age: timedelta, most: int) -> int:
    """Removes memories deleted so long ago, with their revisions and vectors; answers how many."""
    old = select(memory.c.memory_id).where(
        in_tenant(memory, connection), memory.c.delete_time <= func.now() - age
    )
    ids = old.limit(most).with_for_update(skip_locked=True)
    statement = delete(memory).where(in_tenant(memory, connection), memory.c.memory_id.in_(ids))
    return (await connection.execute(statement)).rowcount


def _model(connection: TenantConnection) -> Row:
    return {"model_id": connection.embedding_model.model_id}


def select_memories(connection: TenantConnection) -> Select[Any]:
    return select(*STORED, HAS_EMBEDDING).where(in_tenant(memory, connection))


async def get_memories(
    connection: TenantConnection, memory_ids: Sequence[str], *, include_deleted: bool = False
) -> dict[str, Memory]:
    """The visible ones among `memory_ids`, by id."""
    statement = select_memories(connection).where(one_of(memory.c.memory_id, memory_ids))
    statement = statement.where(_alive(include_deleted))
    rows = await connection.fetch_all(statement, _model(connection))
    return {row["memory_id"]: memory_from(row, connection) for row in rows}


def _alive(include_deleted: bool) -> ColumnElement[bool]:
    return is_unexpired(memory) if include_deleted else is_live(memory)


async def memory_exists(connection: TenantConnection, memory_id: str) -> bool:
    """Whether the id is in use, by a deleted or expired memory too."""
    statement = select(memory.c.memory_id).where(
        in_tenant(memory, connection), memory.c.memory_id == memory_id
    )
    return await connection.fetch_one(statement) is not None


async def get_memory_by_key(
    connection: TenantConnection, key: MemoryKey, owners: Sequence[str], *, include_deleted: bool = False
) -> Memory | None:
    """The row of the key; of several the owners' own first, then the newest."""
    statement = select_memories(connection).where(
        memory.c.kind == key.kind,
        memory.c.custom_type == key.custom_type,
        memory.c.key == key.key,
        in_scope(memory, key.scope),
        _alive(include_deleted),
    )
    own_first = case((memory.c.user_id == func.any(literal(list(owners), ARRAY(Text))), 0), else_=1)
    statement = statement.order_by(
        memory.c.delete_time.is_not(None), own_first, memory.c.update_time.desc(), memory.c.memory_id
    )
    row = await connection.fetch_one(statement.limit(1), _model(connection))
    return memory_from(row, connection) if row else None


def matching(query: MemoryQuery) -> ColumnElement[bool]:
    """What lists and both search legs ask of a memory, beside the tenant."""
    conditions = [
        in_scope(memory, query.scope),
        one_of(memory.c.kind, query.kinds),
        one_of(memory.c.custom_type, query.custom_types),
        _alive(query.include_deleted),
    ]
    if query.visibility is not None:
        conditions.append(memory.c.visibility == query.visibility)
    if query.filter is not None:
        conditions.append(compile_filter(query.filter, memory))
    return and_(*conditions)


async def list_memories(
    connection: TenantConnection, query: MemoryQuery, order_by: Sequence[OrderBy], page: PageRequest
) -> Page[Memory]:
    keys = order_keys(order_by, ORDERS, [OrderBy("create_time", descending=True)])
    if query.include_deleted:
        keys.insert(0, DELETED_LAST)
    keys.append(text_key(memory.c.memory_id))
    if query.filter is not None:  # which index serves it depends on its values
        await connection.execute(load_sql("force_custom_plans"))
    condition = and_(matching(query), await narrow(connection, query.filter))
    statement = select_memories(connection).where(condition)
    return await fetch_page(
        connection,
        statement,
        keys,
        page,
        lambda row: memory_from(row, connection),
        _model(connection),
        weight=WEIGHT,
    )


def searched(query: MemoryQuery) -> Searched:
    return Searched(memory, memory_embedding, "memory_id", "update_time", matching(query))


async def narrowed(connection: TenantConnection, query: MemoryQuery) -> Searched:
    """As `searched`, with what the index of declared metadata keys says of the filter."""
    everywhere = searched(query)
    return replace(everywhere, condition=and_(everywhere.condition, await narrow(connection, query.filter)))
