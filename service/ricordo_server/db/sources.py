"""Statements on sources: the turns that a revision of a memory rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, bindparam, delete, func, insert, literal, select
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_tenant, one_of
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.tables import memory, memory_revision, memory_source
from ricordo_server.domain.forgetting import Support
from ricordo_server.domain.memory import Memory, RevisionAction

OF_REVISION = ("project_id", "store_id", "memory_id", "revision")
INSERT = (
    upsert(memory_source)
    .values({each.name: bindparam(f"new_{each.name}", type_=each.type) for each in memory_source.c})
    .on_conflict_do_nothing()
)


@dataclass(frozen=True)
class Source:
    """`quote` is what the turn says of it; `snapshot_id` is empty for turns that were read outside any."""

    turn_id: str
    role: str
    said_time: datetime
    quote: str
    snapshot_id: str = ""


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


async def list_supports(connection: TenantConnection, turn_ids: Sequence[str]) -> dict[str, list[Support]]:
    """Every revision of each memory that rests on one of the turns, and how many of its turns are among them."""
    if not turn_ids:
        return {}
    touched = select(memory_source.c.memory_id).where(
        in_tenant(memory_source, connection), one_of(memory_source.c.turn_id, turn_ids)
    )
    of_revision = and_(*(memory_revision.c[name] == memory_source.c[name] for name in OF_REVISION))
    going = func.count(memory_source.c.turn_id).filter(one_of(memory_source.c.turn_id, turn_ids))
    statement = (
        select(
            memory_revision.c.memory_id,
            memory_revision.c.revision,
            memory_revision.c.action,
            going.label("going"),
            func.count(memory_source.c.turn_id).label("turns"),
        )
        .select_from(memory_revision.outerjoin(memory_source, of_revision))
        .where(in_tenant(memory_revision, connection), memory_revision.c.memory_id.in_(touched))
        .group_by(memory_revision.c.memory_id, memory_revision.c.revision, memory_revision.c.action)
        .order_by(memory_revision.c.memory_id, memory_revision.c.revision)
    )
    supports: dict[str, list[Support]] = {}
    for row in await connection.fetch_all(statement):
        support = Support(
            row["revision"], RevisionAction(row["action"]), row["going"], row["turns"] - row["going"]
        )
        supports.setdefault(row["memory_id"], []).append(support)
    return supports


async def delete_sources(connection: TenantConnection, turn_ids: Sequence[str]) -> None:
    """The turns are gone: what still stands rests on others."""
    if turn_ids:
        of_turns = one_of(memory_source.c.turn_id, turn_ids)
        await connection.execute(delete(memory_source).where(in_tenant(memory_source, connection), of_turns))


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


async def add_sources(connection: TenantConnection, rests: Sequence[tuple[Memory, Sequence[Source]]]) -> None:
    """Adds to the current revision of each memory the turns it does not rest on yet."""
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
    rows.sort(key=lambda row: (row["memory_id"], row["turn_id"]))
    parameters = [{f"new_{name}": value for name, value in row.items()} for row in rows]
    await connection.execute_many(INSERT, parameters)
