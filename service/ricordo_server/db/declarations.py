"""Statements on what the rows of a store hold under declared names and types."""

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Table, Text, false, func, literal, or_, select, true

from ricordo_server.db.conditions import in_tenant, is_live, one_of
from ricordo_server.db.connection import ProjectConnection, TenantConnection
from ricordo_server.db.metadata_filters import find_value
from ricordo_server.db.tables import memory, session, store, turn
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.metadata import DOUBLE, TIME
from ricordo_server.domain.project_settings import MetadataType

# How values of a type are stored: as what JSON type, or in an object with what tag.
JSON_TYPES: Mapping[MetadataType, Sequence[str]] = {
    MetadataType.STRING: ("string",),
    MetadataType.NUMBER: ("number",),
    MetadataType.BOOL: ("boolean",),
    MetadataType.TIME: (),
}
TAGS: Mapping[MetadataType, str] = {MetadataType.NUMBER: DOUBLE, MetadataType.TIME: TIME}


async def list_store_names(connection: ProjectConnection) -> list[str]:
    statement = select(store.c.name).where(store.c.project_id == connection.project_id)
    return [row["name"] for row in await connection.fetch_all(statement.order_by(store.c.name))]


async def count_conflicts(connection: TenantConnection, types: Mapping[str, MetadataType]) -> dict[str, int]:
    """How many rows have a value of another type under each name; names without any are left out.

    Deleted memories do not count; each table is read once for all names.
    """
    counts = dict.fromkeys(types, 0)
    for table, condition in ((memory, is_live(memory)), (turn, true()), (session, true())):
        columns = [
            func.count().filter(_conflicts(table, name, value_type)).label(f"conflicts_{number}")
            for number, (name, value_type) in enumerate(types.items())
        ]
        statement = select(*columns).select_from(table).where(in_tenant(table, connection), condition)
        row = await connection.fetch_one(statement) or {}
        for number, name in enumerate(types):
            counts[name] += row.get(f"conflicts_{number}", 0)
    return {name: count for name, count in counts.items() if count}


def _conflicts(table: Table, name: str, value_type: MetadataType) -> ColumnElement[bool]:
    """Null is of every type, and so is nothing at all."""
    value = find_value(table.c.metadata, name.split("."))
    stored = func.jsonb_typeof(value, type_=Text)
    right = [stored == literal(kind, Text) for kind in ("null", *JSON_TYPES[value_type])]
    if value_type in TAGS:
        right.append(value.op("->")(literal(TAGS[value_type], Text)).is_not(None))
    return or_(*right).is_(false())


async def count_custom_memories(connection: TenantConnection, custom_types: Sequence[str]) -> dict[str, int]:
    """Live memories of each type; types without any are left out."""
    statement = (
        select(memory.c.custom_type, func.count().label("memories"))
        .where(in_tenant(memory, connection), is_live(memory), memory.c.kind == MemoryKind.CUSTOM)
        .where(one_of(memory.c.custom_type, custom_types))
        .group_by(memory.c.custom_type)
    )
    return {row["custom_type"]: row["memories"] for row in await connection.fetch_all(statement)}
