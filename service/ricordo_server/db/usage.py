"""Statements on what a project may use and has used."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Table,
    and_,
    bindparam,
    func,
    insert,
    literal,
    select,
    update,
)

from ricordo_server.db.conditions import in_tenant, one_of
from ricordo_server.db.connection import ProjectConnection, TenantConnection
from ricordo_server.db.paging import bytes_of
from ricordo_server.db.sql import load_sql
from ricordo_server.db.tables import memory, memory_revision, project, turn, usage
from ricordo_server.db.turns import of_session
from ricordo_server.domain.project_limits import (
    LIMIT_NAMES,
    ProjectLimits,
    ProjectUsage,
    TokenKind,
    limits_from,
)
from ricordo_server.domain.scope import Scope

TODAY = func.date(func.timezone("UTC", func.now()))
TOKENS = tuple(kind.value for kind in TokenKind)
STORED = ("stored_memories", "stored_bytes")
MEMORY_TEXTS = ("content", "title", "description", "metadata", "details")
TURN_TEXTS = ("content", "data_json", "tool_calls", "metadata")


async def count_memories(connection: TenantConnection, memory_ids: Sequence[str], *, created: bool) -> None:
    """A revision of each memory, as it stands now, was written."""
    condition = one_of(memory.c.memory_id, memory_ids)
    await _count(connection, memory, MEMORY_TEXTS, len(memory_ids) if created else 0, condition)


async def count_turns(connection: TenantConnection, turn_ids: Sequence[str]) -> None:
    """The turns were written."""
    await _count(connection, turn, TURN_TEXTS, 0, one_of(turn.c.turn_id, turn_ids))


async def discount_memory(connection: TenantConnection, memory_id: str) -> None:
    """The memory is about to be removed with its revisions."""
    condition = memory_revision.c.memory_id == memory_id
    await _count(connection, memory_revision, MEMORY_TEXTS, -1, condition, sign=-1)


async def discount_revisions(connection: TenantConnection, memory_id: str, revisions: Sequence[int]) -> None:
    """These revisions of a memory that stays are about to be removed."""
    chosen = memory_revision.c.revision == func.any(literal(list(revisions), ARRAY(BigInteger)))
    condition = and_(memory_revision.c.memory_id == memory_id, chosen)
    await _count(connection, memory_revision, MEMORY_TEXTS, 0, condition, sign=-1)


async def discount_turns(
    connection: TenantConnection, scope: Scope, turn_ids: Sequence[str] | None = None
) -> None:
    """Turns of a session, all unless some are named, are about to be removed."""
    await _count(connection, turn, TURN_TEXTS, 0, of_session(scope, turn_ids), sign=-1)


async def _count(
    connection: TenantConnection,
    table: Table,
    texts: Sequence[str],
    memories: int,
    condition: ColumnElement[bool],
    *,
    sign: int = 1,
) -> None:
    """Texts only: what must be there in any case is not worth the sum."""
    total = func.coalesce(func.sum(bytes_of(*(table.c[name] for name in texts))), 0) * sign
    rows = select(
        literal(connection.project_id, usage.c.project_id.type),
        literal(connection.store_id, usage.c.project_id.type),
        literal(memories, BigInteger),
        total,
    ).where(in_tenant(table, connection), condition)
    await connection.execute(insert(usage).from_select(["project_id", "store_id", *STORED], rows))


async def recount_store(connection: TenantConnection) -> None:
    """In place of all differences, what the store holds now."""
    await connection.execute(load_sql("recount_store"), connection.key)


async def add_tokens(connection: ProjectConnection, tokens: Mapping[TokenKind, int]) -> None:
    """Spent today."""
    values = {str(kind): count for kind, count in tokens.items()}
    await connection.execute(
        insert(usage).values(project_id=connection.project_id, usage_id=func.gen_random_uuid(), **values)
    )


async def read_usage(
    connection: ProjectConnection, project_id: UUID | None = None
) -> tuple[ProjectUsage, int]:
    """What the project has used (the connection's own, unless an operator names one), and in how many rows."""
    sums = [func.coalesce(func.sum(usage.c[name]), 0).label(name) for name in STORED]
    sums += [
        func.coalesce(func.sum(usage.c[name]).filter(usage.c.day == TODAY), 0).label(name) for name in TOKENS
    ]
    statement = select(*sums, func.count().label("rows")).where(
        usage.c.project_id == (project_id or connection.project_id)
    )
    row = await connection.fetch_one(statement)
    assert row is not None  # noqa: S101 - sums always make a row
    return ProjectUsage(**{name: int(row[name]) for name in (*STORED, *TOKENS)}), int(row["rows"])


async def compact_usage(connection: ProjectConnection) -> None:
    """One row for each store and day in place of many; the sums stay. Two at once do not hinder each other."""
    await connection.execute(load_sql("compact_usage"), {"project_id": connection.project_id})


async def read_limits(
    connection: ProjectConnection, project_id: UUID | None = None, *, lock: bool = False
) -> ProjectLimits | None:
    """None when there is no such project."""
    statement = select(project.c.limits).where(project.c.project_id == (project_id or connection.project_id))
    row = await connection.fetch_one(statement.with_for_update(key_share=True) if lock else statement)
    return limits_from(row["limits"]) if row else None


async def write_limits(connection: ProjectConnection, project_id: UUID, limits: ProjectLimits) -> None:
    """As operator."""
    given = {name: value for name in LIMIT_NAMES if (value := getattr(limits, name)) is not None}
    statement = update(project).where(project.c.project_id == project_id)
    new = statement.values(limits=bindparam("new_limits", type_=project.c.limits.type))
    await connection.execute(new, {"new_limits": Jsonb(given)})
