"""Statements that copy turns into another session of the same user and labels."""

from collections.abc import Mapping

from sqlalchemy import ARRAY, FromClause, Text, func, insert, literal, select, tuple_

from ricordo_server.db.conditions import in_tenant
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sources import GROUND
from ricordo_server.db.tables import memory_source, turn, turn_embedding
from ricordo_server.domain.scope import Scope

# Of a copy its own; `tsv` is generated.
OWN_COLUMNS = ("turn_id", "scope_key", "session_id", "create_time", "tsv")
# Sources name the snapshot in which the original was read: that of a copy is none.
OWN_SOURCE_COLUMNS = ("turn_id", "ground", "snapshot_id")


async def list_turn_ids(connection: TenantConnection, scope: Scope, through_seq: int) -> list[str]:
    """The turns of a session up to a number, in their order."""
    statement = select(turn.c.turn_id).where(
        in_tenant(turn, connection), turn.c.scope_key == scope.key, turn.c.turn_seq <= through_seq
    )
    return [row["turn_id"] for row in await connection.fetch_all(statement.order_by(turn.c.turn_seq))]


async def copy_turns(connection: TenantConnection, copies: Mapping[str, str], into: Scope) -> None:
    """Each turn of the first id becomes one of the second, with its vectors; what rests on it rests on both."""
    pairs = (
        func.unnest(literal(list(copies), ARRAY(Text)), literal(list(copies.values()), ARRAY(Text)))
        .table_valued("original", "copy")
        .render_derived("pair")
    )
    await _copy_rows(connection, pairs, into)
    await _copy_vectors(connection, pairs)
    await _copy_sources(connection, pairs, into)


async def _copy_rows(connection: TenantConnection, pairs: FromClause, into: Scope) -> None:
    same = [each for each in turn.c if each.name not in OWN_COLUMNS]
    own = {
        "turn_id": pairs.c.copy,
        "scope_key": literal(into.key),
        "session_id": literal(into.session_id),
        "create_time": func.clock_timestamp(),
    }
    rows = (
        select(*same, *own.values())
        .select_from(turn.join(pairs, pairs.c.original == turn.c.turn_id))
        .where(in_tenant(turn, connection))
    )
    await connection.execute(insert(turn).from_select([*(each.name for each in same), *own], rows))


async def _copy_vectors(connection: TenantConnection, pairs: FromClause) -> None:
    same = [each for each in turn_embedding.c if each.name != "turn_id"]
    rows = (
        select(*same, pairs.c.copy)
        .select_from(turn_embedding.join(pairs, pairs.c.original == turn_embedding.c.turn_id))
        .where(in_tenant(turn_embedding, connection))
    )
    names = [*(each.name for each in same), "turn_id"]
    await connection.execute(insert(turn_embedding).from_select(names, rows))


async def _copy_sources(connection: TenantConnection, pairs: FromClause, into: Scope) -> None:
    """Only whole grounds: a copy of some of the turns that were quoted together says too little."""
    same = [each for each in memory_source.c if each.name not in OWN_SOURCE_COLUMNS]
    ground = [memory_source.c[name] for name in GROUND]
    named = pairs.c.original == memory_source.c.turn_id
    touched = (
        select(memory_source.c.memory_id)
        .select_from(memory_source.join(pairs, named))
        .where(in_tenant(memory_source, connection))
    )
    whole = (
        select(*ground)
        .select_from(memory_source.outerjoin(pairs, named))
        .where(in_tenant(memory_source, connection), memory_source.c.memory_id.in_(touched))
        .group_by(*ground)
        .having(func.count() == func.count(pairs.c.copy))
    )
    own = (pairs.c.copy, func.md5(memory_source.c.ground + literal(into.key)), literal(""))
    rows = (
        select(*same, *own)
        .select_from(memory_source.join(pairs, pairs.c.original == memory_source.c.turn_id))
        .where(in_tenant(memory_source, connection), tuple_(*ground).in_(whole))
    )
    names = [*(each.name for each in same), *OWN_SOURCE_COLUMNS]
    await connection.execute(insert(memory_source).from_select(names, rows))
