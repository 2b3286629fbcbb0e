"""Statements on the values of declared metadata keys, kept beside the memories for filters to find these by."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    Select,
    Text,
    all_,
    bindparam,
    column,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from ricordo_server.db.conditions import in_tenant, one_of
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.tables import memory, memory_attribute
from ricordo_server.domain.attributes import attributes_of
from ricordo_server.domain.memory import Memory
from ricordo_server.domain.metadata import decode_metadata
from ricordo_server.domain.project_settings import MetadataType

# Memories read, encoded and written at a time when a key is declared.
BATCH = 5_000

NAMES = ("memory_id", "key", "value", "user_id", "visibility")
GIVEN = (
    func.unnest(*(bindparam(f"given_{name}", type_=ARRAY(Text)) for name in NAMES))
    .table_valued(*(column(name, Text) for name in NAMES))
    .render_derived(name="given")
)
TENANT = ("project_id", "store_id")
INSERT = insert(memory_attribute).from_select(
    [*TENANT, *NAMES],
    select(
        *(bindparam(name, type_=memory_attribute.c[name].type) for name in TENANT),
        *(GIVEN.c[name] for name in NAMES),
    ),
)


async def write_attributes(
    connection: TenantConnection, memories: Sequence[Memory], *, new: bool = False
) -> None:
    """The values of the memories as they stand now; `new` ones have none yet."""
    declared = connection.settings.declared
    if not declared or not memories:
        return
    if not new:
        memory_ids = [each.memory_id for each in memories]
        of_memories = one_of(memory_attribute.c.memory_id, memory_ids)
        await connection.execute(
            delete(memory_attribute).where(in_tenant(memory_attribute, connection), of_memories)
        )
    await _insert(
        connection,
        [
            (each.memory_id, key, value, each.scope.user_id, each.visibility)
            for each in memories
            for key, value in attributes_of(each.metadata, declared).items()
        ],
    )


async def _insert(connection: TenantConnection, rows: Sequence[tuple[str | None, ...]]) -> None:
    if rows:
        columns = zip(*rows, strict=True)
        given = {f"given_{name}": list(values) for name, values in zip(NAMES, columns, strict=True)}
        await connection.execute(INSERT, {**connection.key, **given})


async def set_attribute_visibility(connection: TenantConnection, memory: Memory) -> None:
    """The copy that the policy of the values reads."""
    of_memory = memory_attribute.c.memory_id == memory.memory_id
    await connection.execute(
        update(memory_attribute)
        .where(in_tenant(memory_attribute, connection), of_memory)
        .values(visibility=memory.visibility)
    )


async def drop_attributes(
    connection: TenantConnection, *, of_keys: Sequence[str], unless: Sequence[str]
) -> None:
    """Those of some keys, and those of every key unless it is named."""
    key = memory_attribute.c.key
    is_other = key != all_(literal(list(unless), ARRAY(Text)))
    dropped = or_(is_other, one_of(key, of_keys)) if of_keys else is_other
    await connection.execute(delete(memory_attribute).where(in_tenant(memory_attribute, connection), dropped))


async def index_memories(connection: TenantConnection, types: Mapping[str, MetadataType]) -> None:
    """Writes the values that the store's memories, deleted ones too, have under newly declared keys."""
    after = ""
    while True:
        rows = await connection.fetch_all(_next_batch(connection, after))
        await _insert(
            connection,
            [
                (row["memory_id"], key, value, row["user_id"], row["visibility"])
                for row in rows
                for key, value in attributes_of(decode_metadata(row["metadata"]), types).items()
            ],
        )
        if len(rows) < BATCH:
            return
        after = rows[-1]["memory_id"]


def _next_batch(connection: TenantConnection, after: str) -> Select[Any]:
    return (
        select(memory.c.memory_id, memory.c.user_id, memory.c.visibility, memory.c.metadata)
        .where(in_tenant(memory, connection), memory.c.memory_id > after)
        .order_by(memory.c.memory_id)
        .limit(BATCH)
    )
