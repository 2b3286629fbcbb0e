"""Statements on sources: the turns that a revision of a memory rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Select,
    Subquery,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    not_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_tenant, one_of
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.tables import memory, memory_revision, memory_source
from ricordo_server.domain.forgetting import Support
from ricordo_server.domain.memory import Memory, MemoryKind, RevisionAction

GROUND = ("memory_id", "revision", "ground")
OF_REVISION = ("project_id", "store_id", "memory_id", "revision")
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
        memory.c.memory_id.in_(touched),
    )
    statement = select(memory_source).where(
        in_tenant(memory_source, connection), memory_source.c.memory_id.in_(documents)
    )
    found: dict[str, list[Quotation]] = {}
    for row in await connection.fetch_all(statement):
        each = Quotation(row["revision"], row["turn_id"], row["ground"], row["quote"])
        found.setdefault(row["memory_id"], []).append(each)
    return found


async def get_said_times(connection: TenantConnection, memory_ids: Sequence[str]) -> dict[str, datetime]:
    """When the latest turn was said that each memory rests on as it is now."""
    current = and_(*(memory.c[name] == memory_source.c[name] for name in OF_REVISION))
    statement = (
        select(memory_source.c.memory_id, func.max(memory_source.c.said_time).label("said_time"))
        .select_from(memory_source.join(memory, current))
        .where(in_tenant(memory_source, connection), in_tenant(memory, connection))
        .where(one_of(memory_source.c.memory_id, memory_ids))
        .group_by(memory_source.c.memory_id)
    )
    rows = await connection.fetch_all(statement)
    return {row["memory_id"]: row["said_time"] for row in rows}


async def get_line_times(
    connection: TenantConnection, memory_ids: Sequence[str]
) -> dict[tuple[str, str], datetime]:
    """When each line of these documents, as they are now, was said last; by document and line."""
    current = and_(*(memory.c[name] == memory_source.c[name] for name in OF_REVISION))
    statement = (
        select(memory_source.c.memory_id, memory_source.c.quote, memory_source.c.said_time)
        .select_from(memory_source.join(memory, current))
        .where(in_tenant(memory_source, connection), in_tenant(memory, connection))
        .where(one_of(memory_source.c.memory_id, memory_ids))
        .order_by(memory_source.c.said_time)
    )
    rows = await connection.fetch_all(statement) if memory_ids else []
    return {(row["memory_id"], line): row["said_time"] for row in rows for line in row["quote"].split("\n")}


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
        .where(memory_source.c.memory_id.in_(_touched(connection, turn_ids, "memory_id")))
        .group_by(*key)
        .subquery()
    )


async def list_supports(connection: TenantConnection, turn_ids: Sequence[str]) -> dict[str, list[Support]]:
    """Every revision of each memory that rests on one of the turns, and how many of its grounds break and hold."""
    if not turn_ids:
        return {}
    ground = _grounds(connection, turn_ids)
    same = and_(*(memory_revision.c[name] == ground.c[name] for name in ("memory_id", "revision")))
    statement = (
        select(
            memory_revision.c.memory_id,
            memory_revision.c.revision,
            memory_revision.c.action,
            func.count(ground.c.ground).filter(ground.c.going > 0).label("broken"),
            func.count(ground.c.ground).filter(ground.c.going == 0).label("whole"),
        )
        .select_from(memory_revision.outerjoin(ground, same))
        .where(in_tenant(memory_revision, connection))
        .where(memory_revision.c.memory_id.in_(_touched(connection, turn_ids, "memory_id")))
        .group_by(memory_revision.c.memory_id, memory_revision.c.revision, memory_revision.c.action)
        .order_by(memory_revision.c.memory_id, memory_revision.c.revision)
    )
    supports: dict[str, list[Support]] = {}
    for row in await connection.fetch_all(statement):
        support = Support(row["revision"], RevisionAction(row["action"]), row["broken"], row["whole"])
        supports.setdefault(row["memory_id"], []).append(support)
    return supports


async def list_remainders(
    connection: TenantConnection, turn_ids: Sequence[str]
) -> dict[str, set[tuple[str, MemoryKind]]]:
    """Of each memory the snapshots, with its kind, whose turns it rests on only some of which go."""
    if not turn_ids:
        return {}
    ground = _grounds(connection, turn_ids)
    statement = (
        select(memory.c.memory_id, memory.c.kind, ground.c.snapshot_id)
        .select_from(memory.join(ground, memory.c.memory_id == ground.c.memory_id))
        .where(in_tenant(memory, connection), ground.c.snapshot_id != "")
        .where(ground.c.going > 0, ground.c.staying > 0)
    )
    remainders: dict[str, set[tuple[str, MemoryKind]]] = {}
    for row in await connection.fetch_all(statement):
        remainders.setdefault(row["memory_id"], set()).add((row["snapshot_id"], MemoryKind(row["kind"])))
    return remainders


async def delete_sources(connection: TenantConnection, turn_ids: Sequence[str]) -> None:
    """The turns are gone: what still stands rests on other grounds."""
    if turn_ids:
        key = tuple_(*(memory_source.c[name] for name in GROUND))
        broken = key.in_(_touched(connection, turn_ids, *GROUND))
        await connection.execute(delete(memory_source).where(in_tenant(memory_source, connection), broken))


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
    before = and_(
        *(memory.c[name] == memory_source.c[name] for name in ("project_id", "store_id", "memory_id")),
        memory.c.revision - 1 == memory_source.c.revision,
    )
    source = (
        select(*copied, memory.c.revision)
        .select_from(memory_source.join(memory, before))
        .where(in_tenant(memory_source, connection), in_tenant(memory, connection))
        .where(one_of(memory_source.c.memory_id, memory_ids))
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
