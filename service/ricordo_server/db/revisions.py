"""Statements on revisions: full copies of a memory, one for each change."""

from collections.abc import Sequence

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
)

from ricordo_server.db.conditions import in_tenant, is_unexpired
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.memory_rows import revision_from
from ricordo_server.db.paging import OrderKey, bytes_of, fetch_page
from ricordo_server.db.tables import memory, memory_revision
from ricordo_server.domain.memory import MemoryRevision, RevisionAction
from ricordo_server.domain.paging import Page, PageRequest

COPIED = [column for column in memory.c if column.name != "tsv"]
ADDED = [memory_revision.c.action, memory_revision.c.revision_time]
READ = [memory_revision.c[column.name] for column in (*COPIED, *ADDED)]
WEIGHT = bytes_of(
    memory_revision.c.content,
    memory_revision.c.description,
    memory_revision.c.details,
    memory_revision.c.metadata,
)

COPY = insert(memory_revision).from_select(
    [column.name for column in (*COPIED, *ADDED)],
    select(*COPIED, bindparam("action", type_=memory_revision.c.action.type), memory.c.update_time).where(
        memory.c.project_id == bindparam("project_id"),
        memory.c.store_id == bindparam("store_id"),
        memory.c.memory_id == func.any(bindparam("memory_ids", type_=memory.c.tags.type)),
    ),
)


async def write_revisions(
    connection: TenantConnection, memory_ids: Sequence[str], action: RevisionAction
) -> None:
    """Copies the memories as they stand now."""
    await connection.execute(COPY, {**connection.key, "memory_ids": list(memory_ids), "action": action})


def _of_memory(connection: TenantConnection, memory_id: str) -> ColumnElement[bool]:
    """The revisions of a memory that is not expired; it may be deleted."""
    unexpired = exists(
        select(1).where(in_tenant(memory, connection), memory.c.memory_id == memory_id, is_unexpired(memory))
    )
    return and_(in_tenant(memory_revision, connection), memory_revision.c.memory_id == memory_id, unexpired)


async def list_revisions(
    connection: TenantConnection, memory_id: str, page: PageRequest
) -> Page[MemoryRevision]:
    """Newest first."""
    statement = select(*READ).where(_of_memory(connection, memory_id))
    newest = OrderKey(memory_revision.c.revision, int, descending=True)
    return await fetch_page(
        connection, statement, [newest], page, lambda row: revision_from(row, connection), weight=WEIGHT
    )


async def get_revision(connection: TenantConnection, memory_id: str, revision: int) -> MemoryRevision | None:
    statement = select(*READ).where(_of_memory(connection, memory_id), memory_revision.c.revision == revision)
    row = await connection.fetch_one(statement)
    return revision_from(row, connection) if row else None


async def delete_revisions(connection: TenantConnection, memory_id: str, revisions: Sequence[int]) -> None:
    """With what they rested on. The memory keeps its number: later revisions do not move up."""
    await connection.execute(
        delete(memory_revision).where(
            in_tenant(memory_revision, connection),
            memory_revision.c.memory_id == memory_id,
            memory_revision.c.revision == func.any(literal(list(revisions), ARRAY(BigInteger))),
        )
    )
