"""Statements on revisions: full copies of a memory, one for each change."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from psycopg.types.json import Jsonb
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Text,
    and_,
    bindparam,
    case,
    cast,
    column,
    delete,
    exists,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import array as pg_array

from ricordo_server.db.conditions import in_tenant, is_unexpired
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.memory_rows import revision_from
from ricordo_server.db.paging import OrderKey, bytes_of, fetch_page
from ricordo_server.db.tables import memory, memory_revision
from ricordo_server.domain.memory import Memory, MemoryRevision, RevisionAction
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.retention import DEFAULT_OPTIONS, RevisionOptions

COPIED = [each for each in memory.c if each.name != "tsv"]
REVISION = memory_revision.c
OF_MEMORY = ("project_id", "store_id", "memory_id")
ADDED = [
    REVISION.action,
    REVISION.revision_time,
    REVISION.revision_expire_time,
    REVISION.revision_labels,
    REVISION.extracted_memories,
]
READ = [memory_revision.c[each.name] for each in (*COPIED, *ADDED)]
WEIGHT = bytes_of(
    memory_revision.c.content,
    memory_revision.c.description,
    memory_revision.c.details,
    memory_revision.c.metadata,
)

NOTHING = cast([], ARRAY(Text))
COPY = insert(memory_revision).from_select(
    [each.name for each in (*COPIED, *ADDED)],
    select(
        *COPIED,
        bindparam("action", type_=REVISION.action.type),
        memory.c.update_time,
        bindparam("expire_time", type_=REVISION.revision_expire_time.type),
        bindparam("revision_labels", type_=REVISION.revision_labels.type),
        case((bindparam("is_extracted", type_=Boolean), pg_array([memory.c.content])), else_=NOTHING),
    ).where(
        memory.c.project_id == bindparam("project_id"),
        memory.c.store_id == bindparam("store_id"),
        memory.c.memory_id == func.any(bindparam("memory_ids", type_=memory.c.tags.type)),
    ),
)


async def write_revisions(
    connection: TenantConnection,
    memory_ids: Sequence[str],
    action: RevisionAction,
    options: RevisionOptions = DEFAULT_OPTIONS,
    *,
    is_extracted: bool = False,
) -> None:
    """Copies the memories as they stand now; `is_extracted`: their contents are what turns or facts say."""
    own = {
        "memory_ids": list(memory_ids),
        "action": action,
        "expire_time": connection.retention.revision_expire_time(options, datetime.now(UTC)),
        "revision_labels": Jsonb(dict(options.labels)),
        "is_extracted": is_extracted,
    }
    await connection.execute(COPY, {**connection.key, **own})


def _of_memory(connection: TenantConnection, memory_id: str) -> ColumnElement[bool]:
    """The revisions of a memory that is not expired; it may be deleted."""
    unexpired = exists(
        select(1).where(in_tenant(memory, connection), memory.c.memory_id == memory_id, is_unexpired(memory))
    )
    return and_(in_tenant(memory_revision, connection), REVISION.memory_id == memory_id, unexpired)


IS_KEPT = or_(REVISION.revision_expire_time.is_(None), REVISION.revision_expire_time > func.now())


async def list_revisions(
    connection: TenantConnection, memory_id: str, labels: Mapping[str, str], page: PageRequest
) -> Page[MemoryRevision]:
    """Newest first; those with all of the labels."""
    labelled = [REVISION.revision_labels.op("->>")(name) == value for name, value in sorted(labels.items())]
    statement = select(*READ).where(_of_memory(connection, memory_id), IS_KEPT, *labelled)
    newest = OrderKey(REVISION.revision, int, descending=True)
    return await fetch_page(
        connection, statement, [newest], page, lambda row: revision_from(row, connection), weight=WEIGHT
    )


async def get_revision(
    connection: TenantConnection, memory_id: str, revision: int, *, include_expired: bool = False
) -> MemoryRevision | None:
    statement = select(*READ).where(_of_memory(connection, memory_id), REVISION.revision == revision)
    row = await connection.fetch_one(statement if include_expired else statement.where(IS_KEPT))
    return revision_from(row, connection) if row else None


async def remove_expired(connection: TenantConnection, *, most: int) -> int:
    """Removes revisions whose time is over; answers how many. Those that memories stand at stay, unseen: they
    know the turns that the memories rest on.
    """
    standing = select(1).where(
        in_tenant(memory, connection),
        memory.c.memory_id == REVISION.memory_id,
        memory.c.revision == REVISION.revision,
    )
    expired = (
        select(REVISION.memory_id, REVISION.revision)
        .where(in_tenant(memory_revision, connection), REVISION.revision_expire_time <= func.now())
        .where(not_(exists(standing.correlate(memory_revision))))
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    statement = delete(memory_revision).where(
        in_tenant(memory_revision, connection), tuple_(REVISION.memory_id, REVISION.revision).in_(expired)
    )
    return (await connection.execute(statement)).rowcount


async def get_revisions(
    connection: TenantConnection, named: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], Memory]:
    """Memories that are not expired as they were at (memory_id, revision), by that; what is gone is left out."""
    ids, numbers = [each[0] for each in named], [each[1] for each in named]
    wanted = (
        func.unnest(literal(ids, ARRAY(Text)), literal(numbers, ARRAY(BigInteger)))
        .table_valued(column("memory_id", Text), column("revision", BigInteger))
        .render_derived(name="wanted")
    )
    statement = (
        select(*READ)
        .join(
            wanted, and_(*(memory_revision.c[name] == wanted.c[name] for name in ("memory_id", "revision")))
        )
        .join(memory, and_(*(memory.c[name] == memory_revision.c[name] for name in OF_MEMORY)))
        .where(
            in_tenant(memory_revision, connection),
            in_tenant(memory, connection),
            is_unexpired(memory),
            IS_KEPT,
        )
    )
    rows = await connection.fetch_all(statement)
    return {(row["memory_id"], row["revision"]): revision_from(row, connection).memory for row in rows}


async def delete_revisions(connection: TenantConnection, memory_id: str, revisions: Sequence[int]) -> None:
    """With what they rested on. The memory keeps its number: later revisions do not move up."""
    await connection.execute(
        delete(memory_revision).where(
            in_tenant(memory_revision, connection),
            memory_revision.c.memory_id == memory_id,
            memory_revision.c.revision == func.any(literal(list(revisions), ARRAY(BigInteger))),
        )
    )
