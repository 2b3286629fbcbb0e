"""Statements on sources: the turns that a revision of a memory rests on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    Subquery,
    bindparam,
    delete,
    func,
    insert,
    literal,
    not_,
    select,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_tenant, is_among, one_of
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.tables import memory, memory_revision, memory_source
from ricordo_server.domain.forgetting import Support
from ricordo_server.domain.memory import Memory, MemoryKind, RevisionAction

Value = TypeVar("Value")

GROUND = ("memory_id", "revision", "ground")
INSERT = (
    upsert(memory_source)
    .values({each.name: bindparam(f"new_{each.name}", type_=each.type) for each in memory_source.c})
    .on_conflict_do_nothing()
)


@dataclass(frozen=True)
class Source:
    """`quote` is what the turn says of it; `snapshot_id` is empty for turns that were read outside any. A `ground` is
    the same for turns that were quoted together: a revision stands while one of its grounds is whole.
    """

    turn_id: str
    ground: str
    role: str
    said_time: datetime
    quote: str
    snapshot_id: str = ""


@dataclass(frozen=True)
class Quotation:
    """What a revision of a document has of a turn, as a part of a ground: its lines, one below the other."""

    revision: int
    turn_id: str
    ground: str
    quote: str


async def list_document_quotations(
    connection: TenantConnection, turn_ids: Sequence[str]
) -> dict[str, list[Quotation]]:
    """All that documents rest on of which some revision rests on one of the turns, by id."""
    if not turn_ids:
        return {}
    touched = select(memory_source.c.memory_id).where(
        in_tenant(memory_source, connection), one_of(memory_source.c.turn_id, turn_ids)
    )
    documents = select(memory.c.memory_id).where(
        in_tenant(memory, connection),
        memory.c.kind == MemoryKind.DOCUMENT,
        is_among(memory.c.memory_id, touched),
    )
    statement = select(memory_source).where(
        in_tenant(memory_source, connection), is_among(memory_source.c.memory_id, documents)
    )
    found: dict[str, list[Quotation]] = {}
    for row in await connection.fetch_all(statement):
        each = Quotation(row["revision"], row["turn_id"], row["ground"], row["quote"])
        found.setdefault(row["memory_id"], []).append(each)
    return found


async def get_said_times(connection: TenantConnection, memory_ids: Sequence[str]) -> dict[str, datetime]:
    """When the latest turn was said that each memory rests on as it is now."""
    statement = (
        select(memory_source.c.memory_id, func.max(memory_source.c.said_time).label("said_time"))
        .where(in_tenant(memory_source, connection), one_of(memory_source.c.memory_id, memory_ids))
        .where(memory_source.c.revision == _of_memory(connection, memory.c.revision))
        .group_by(memory_source.c.memory_id)
    )
    rows = await connection.fetch_all(statement)
    return {row["memory_id"]: row["said_time"] for row in rows}


async def get_line_times(
    connection: TenantConnection, memory_ids: Sequence[str]
) -> dict[tuple[str, str], datetime]:
    """When each line of these documents, as they are now, was said last; by document and line."""
    statement = (
        select(memory_source.c.memory_id, memory_source.c.quote, memory_source.c.said_time)
        .where(in_tenant(memory_source, connection), one_of(memory_source.c.memory_id, memory_ids))
        .where(memory_source.c.revision == _of_memory(connection, memory.c.revision))
        .order_by(memory_source.c.said_time)
    )
    rows = await connection.fetch_all(statement) if memory_ids else []
    return {(row["memory_id"], line): row["said_time"] for row in rows for line in row["quote"].split("\n")}


def _of_memory(connection: TenantConnection, column: ColumnElement[Value]) -> ScalarSelect[Value]:
    """What the memory has in a column that a source belongs to, looked up by its key."""
    own = memory.c.memory_id == memory_source.c.memory_id
    statement = select(column).where(in_tenant(memory, connection), own)
    return statement.correlate(memory_source).scalar_subquery()


def _touched(connection: TenantConnection, turn_ids: Sequence[str], *columns: str) -> Select[Any]:
    """Those columns of the sources that name one of the turns."""
    return select(*(memory_source.c[name] for name in columns)).where(
        in_tenant(memory_source, connection), one_of(memory_source.c.turn_id, turn_ids)
    )


def _grounds(connection: TenantConnection, turn_ids: Sequence[str]) -> Subquery:
    """Of each memory that rests on one of the turns every ground, and how many of its turns go and stay."""
    key = [memory_source.c[name] for name in GROUND]
    goes = one_of(memory_source.c.turn_id, turn_ids)
    return (
        select(
            *key,
            func.max(memory_source.c.snapshot_id).label("snapshot_id"),
            func.count().filter(goes).label("going"),
            func.count().filter(not_(goes)).label("staying"),
        )
        .where(in_tenant(memory_source, connection))
        .where(is_among(memory_source.c.memory_id, _touched(connection, turn_ids, "memory_id")))
        .group_by(*key)
        .subquery()
    )


async def list_supports(connection: TenantConnection, turn_ids: Sequence[str]) -> dict[str, list[Support]]:
    """Every revision of each memory that rests on one of the turns, and how many of its grounds break and hold."""
    if not turn_ids:
        return {}
    grounds = await connection.fetch_all(select(_grounds(connection, turn_ids)))
    going = [(each["memory_id"], each["revision"], each["going"] > 0) for each in grounds]
    counts = Counter(going)
    statement = (
        select(*(memory_revision.c[name] for name in ("memory_id", "revision", "action")))
        .where(in_tenant(memory_revision, connection))
        .where(is_among(memory_revision.c.memory_id, _touched(connection, turn_ids, "memory_id")))
        .order_by(memory_revision.c.memory_id, memory_revision.c.revision)
    )
    supports: dict[str, list[Support]] = {}
    for row in await connection.fetch_all(statement):
        broken, whole = (counts[row["memory_id"], row["revision"], breaks] for breaks in (True, False))
        support = Support(row["revision"], RevisionAction(row["action"]), broken, whole)
        supports.setdefault(row["memory_id"], []).append(support)
    return supports


async def list_remainders(
    connection: TenantConnection, turn_ids: Sequence[str]
) -> dict[str, set[tuple[str, MemoryKind]]]:
    """Of each memory the snapshots, with its kind, whose turns it rests on only some of which go."""
    if not turn_ids:
        return {}
    ground = _grounds(connection, turn_ids)
    kind = select(memory.c.kind).where(
        in_tenant(memory, connection), memory.c.memory_id == ground.c.memory_id
    )
    statement = select(ground.c.memory_id, kind.scalar_subquery().label("kind"), ground.c.snapshot_id).where(
        ground.c.snapshot_id != "", ground.c.going > 0, ground.c.staying > 0
    )
    remainders: dict[str, set[tuple[str, MemoryKind]]] = {}
    for row in await connection.fetch_all(statement):
        if row["kind"] is not None:  # a memory that the caller may not see
            remainders.setdefault(row["memory_id"], set()).add((row["snapshot_id"], MemoryKind(row["kind"])))
    return remainders


async def delete_sources(connection: TenantConnection, turn_ids: Sequence[str]) -> None:
    """The turns are gone: what still stands rests on other grounds. A ground's name says which turns it is of."""
    if turn_ids:
        of_memories = is_among(memory_source.c.memory_id, _touched(connection, turn_ids, "memory_id"))
        is_broken = is_among(memory_source.c.ground, _touched(connection, turn_ids, "ground"))
        in_store = in_tenant(memory_source, connection)
        await connection.execute(delete(memory_source).where(in_store, of_memories, is_broken))


async def copy_sources(connection: TenantConnection, memory_id: str, revision: int, to: int) -> None:
    """What one revision of a memory rests on is what another rests on too."""
    copied = [each for each in memory_source.c if each.name != "revision"]
    source = select(*copied, literal(to, memory_source.c.revision.type)).where(
        in_tenant(memory_source, connection),
        memory_source.c.memory_id == memory_id,
        memory_source.c.revision == revision,
    )
    names = [*(each.name for each in copied), "revision"]
    await connection.execute(insert(memory_source).from_select(names, source))


async def carry_sources(connection: TenantConnection, memory_ids: Sequence[str]) -> None:
    """What each memory rested on before its last change it rests on still."""
    copied = [each for each in memory_source.c if each.name != "revision"]
    source = (
        select(*copied, memory_source.c.revision + 1)
        .where(in_tenant(memory_source, connection), one_of(memory_source.c.memory_id, memory_ids))
        .where(memory_source.c.revision == _of_memory(connection, memory.c.revision - 1))
    )
    names = [*(each.name for each in copied), "revision"]
    await connection.execute(insert(memory_source).from_select(names, source))


async def copy_sources_to(connection: TenantConnection, whole: Memory, part: Memory) -> None:
    """What a memory rests on as it is, another rests on too."""
    copied = [each for each in memory_source.c if each.name not in ("memory_id", "revision")]
    own = [literal(part.memory_id), literal(part.revision, memory_source.c.revision.type)]
    source = select(*copied, *own).where(
        in_tenant(memory_source, connection),
        memory_source.c.memory_id == whole.memory_id,
        memory_source.c.revision == whole.revision,
    )
    names = [*(each.name for each in copied), "memory_id", "revision"]
    await connection.execute(insert(memory_source).from_select(names, source))


async def add_sources(connection: TenantConnection, rests: Sequence[tuple[Memory, Sequence[Source]]]) -> None:
    """Adds to the current revision of each memory the grounds it does not rest on yet."""
    rows = [
        {
            **connection.key,
            "memory_id": resting.memory_id,
            "revision": resting.revision,
            "user_id": resting.scope.user_id,
            **vars(source),
        }
        for resting, sources in rests
        for source in sources
    ]
    # In one order for all writers, so that two of them never wait for each other.
    rows.sort(key=lambda row: (row["memory_id"], row["ground"], row["turn_id"]))
    parameters = [{f"new_{name}": value for name, value in row.items()} for row in rows]
    await connection.execute_many(INSERT, parameters)
