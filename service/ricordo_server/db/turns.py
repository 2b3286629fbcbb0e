"""Statements on turns."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from operator import ge, le, lt
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import ARRAY, ColumnElement, Text, and_, delete, func, literal, select

from ricordo_server.db.conditions import has_embedding, in_scope, in_tenant, one_of
from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.filters import compile_filter
from ricordo_server.db.paging import OrderKey, bytes_of, fetch_page, order_keys, text_key, time_key
from ricordo_server.db.rows import backlog_from, scope_from, vector_text
from ricordo_server.db.search import Searched
from ricordo_server.db.sql import load_sql
from ricordo_server.db.tables import turn, turn_embedding
from ricordo_server.domain.generation import SessionRange
from ricordo_server.domain.metadata import decode_metadata, encode_metadata
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.promotion import Backlog
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import ToolCall, Turn, TurnDraft, TurnQuery

STORED = [column for column in turn.c if column.name != "tsv"]
HAS_EMBEDDING = has_embedding(turn, turn_embedding, "turn_id")
ORDERS = {
    "turn_seq": OrderKey(turn.c.turn_seq, int),
    "create_time": time_key(turn.c.create_time),
    "event_time": time_key(turn.c.event_time),
}
WEIGHT = bytes_of(turn.c.content, turn.c.data_json, turn.c.tool_calls, turn.c.metadata)
# What is recorded in one statement; other calls get on between two.
TURNS_AT_A_TIME = 50
AS_RECORDED = [OrderBy("create_time"), OrderBy("turn_seq")]


@dataclass(frozen=True)
class NumberedTurn:
    """A turn's place: its own when it was created now, that of the turn with its idempotency key otherwise."""

    turn_id: str
    turn_seq: int
    create_time: datetime
    created: bool


async def record_turns(
    connection: TenantConnection,
    scope: Scope,
    drafts: Sequence[tuple[str, TurnDraft]],
    vector: Vector | None,
) -> tuple[list[NumberedTurn], Backlog]:
    """Inserts each (id, draft) whose idempotency key the session does not know; no key may come twice.

    `lock_session` must have gone before, in the same transaction. With a vector of the first draft, the session's
    backlog says how far it is from the turns that wait.
    """
    numbered: list[NumberedTurn] = []
    for start in range(0, len(drafts), TURNS_AT_A_TIME):
        some = drafts[start : start + TURNS_AT_A_TIME]
        is_last = start + len(some) == len(drafts)
        places, backlog = await _record_some(connection, scope, some, vector if is_last else None)
        numbered += places
    return numbered, backlog


async def _record_some(
    connection: TenantConnection,
    scope: Scope,
    drafts: Sequence[tuple[str, TurnDraft]],
    vector: Vector | None,
) -> tuple[list[NumberedTurn], Backlog]:
    columns = [_turn_columns(*draft) for draft in drafts]
    parameters = {name: [item[name] for item in columns] for name in columns[0]}
    context = {**connection.key, "scope_key": scope.key, "language": connection.language}
    compared = {"vector": None if vector is None else vector_text(vector), **_model(connection)}
    rows = await connection.fetch_all(load_sql("record_turns"), {**parameters, **context, **compared})
    by_id = {row["turn_id"]: row for row in rows}
    by_key = {row["idempotency_key"]: row for row in rows}
    numbered = [_numbered(by_id.get(turn_id) or by_key[draft.idempotency_key]) for turn_id, draft in drafts]
    return numbered, _backlog(rows[0], sum(place.created for place in numbered))


def _backlog(row: Row, created: int) -> Backlog:
    last_seq = row["next_seq"] - 1 + created
    return replace(
        backlog_from({**row, "last_activity_time": row["record_time"]}, last_seq), cosine=row["cosine"]
    )


def _turn_columns(turn_id: str, draft: TurnDraft) -> dict[str, Any]:
    return {
        **vars(draft),
        "turn_id": turn_id,
        "tool_calls": Jsonb([asdict(tool_call) for tool_call in draft.tool_calls]),
        "metadata": Jsonb(encode_metadata(draft.metadata)),
    }


def _numbered(row: Row) -> NumberedTurn:
    return NumberedTurn(row["turn_id"], row["turn_seq"], row["create_time"], row["created"])


def turn_from(row: Row, connection: TenantConnection) -> Turn:
    return Turn(
        turn_id=row["turn_id"],
        store_id=connection.store_name,
        scope=scope_from(row),
        turn_seq=row["turn_seq"],
        role=row["role"],
        content=row["content"],
        tool_calls=[ToolCall(**tool_call) for tool_call in row["tool_calls"]],
        tool_call_id=row["tool_call_id"],
        tool_name=row["tool_name"],
        is_error=row["is_error"],
        model_name=row["model_name"],
        data_json=row["data_json"],
        metadata=decode_metadata(row["metadata"]),
        agent_id=row["agent_id"],
        idempotency_key=row["idempotency_key"],
        event_time=row["event_time"],
        create_time=row["create_time"],
        has_embedding=row["has_embedding"],
    )


def _model(connection: TenantConnection) -> Row:
    return {"model_id": connection.embedding_model.model_id}


async def get_turns(connection: TenantConnection, turn_ids: Sequence[str]) -> dict[str, Turn]:
    """The visible ones among `turn_ids`, by id."""
    if not turn_ids:
        return {}
    statement = select(*STORED, HAS_EMBEDDING).where(in_tenant(turn, connection))
    rows = await connection.fetch_all(statement.where(one_of(turn.c.turn_id, turn_ids)), _model(connection))
    return {row["turn_id"]: turn_from(row, connection) for row in rows}


async def list_run(connection: TenantConnection, run: SessionRange, limit: int) -> list[Turn]:
    """The first turns of a run, in the order of their numbers."""
    bounds = [
        (turn.c.turn_seq, ge, run.from_seq),
        (turn.c.turn_seq, le, run.to_seq),
        (turn.c.event_time, ge, run.start_time),
        (turn.c.event_time, lt, run.end_time),
    ]
    conditions = [compare(column, bound) for column, compare, bound in bounds if bound is not None]
    statement = (
        select(*STORED, HAS_EMBEDDING)
        .where(in_tenant(turn, connection), turn.c.scope_key == run.scope.key, *conditions)
        .order_by(turn.c.turn_seq)
        .limit(limit)
    )
    rows = await connection.fetch_all(statement, _model(connection))
    return [turn_from(row, connection) for row in rows]


async def get_last_turn(connection: TenantConnection, scope: Scope) -> Turn | None:
    """The turn of a session that has the highest number."""
    statement = (
        select(*STORED, HAS_EMBEDDING)
        .where(in_tenant(turn, connection), turn.c.scope_key == scope.key)
        .order_by(turn.c.turn_seq.desc())
        .limit(1)
    )
    row = await connection.fetch_one(statement, _model(connection))
    return turn_from(row, connection) if row else None


async def delete_turns(
    connection: TenantConnection, scope: Scope, turn_ids: Sequence[str] | None = None
) -> dict[str, int]:
    """Removes turns of a session with their vectors, all unless some are named; answers their numbers, by id."""
    statement = delete(turn).where(in_tenant(turn, connection), of_session(scope, turn_ids))
    rows = await connection.fetch_all(statement.returning(turn.c.turn_id, turn.c.turn_seq))
    return {row["turn_id"]: row["turn_seq"] for row in rows}


def of_session(scope: Scope, turn_ids: Sequence[str] | None) -> ColumnElement[bool]:
    """The turns of a session, all unless some are named."""
    of_scope = turn.c.scope_key == scope.key
    if turn_ids is None:
        return of_scope
    return and_(of_scope, turn.c.turn_id == func.any(literal(list(turn_ids), ARRAY(Text))))


async def hold_turns(connection: TenantConnection, turn_ids: Sequence[str]) -> bool:
    """Whether all of them are there; they stay until the transaction ends."""
    if not turn_ids:
        return True
    statement = (
        select(turn.c.turn_id)
        .where(in_tenant(turn, connection), one_of(turn.c.turn_id, turn_ids))
        .order_by(turn.c.turn_id)
        .with_for_update(read=True, key_share=True)
    )
    return len(await connection.fetch_all(statement)) == len(set(turn_ids))


def matching(query: TurnQuery) -> ColumnElement[bool]:
    """What lists and both search legs ask of a turn, beside the tenant."""
    conditions: list[Any] = [in_scope(turn, query.scope)]
    if query.filter is not None:
        conditions.append(compile_filter(query.filter, turn))
    return and_(*conditions)


async def list_turns(
    connection: TenantConnection, query: TurnQuery, order_by: Sequence[OrderBy], page: PageRequest
) -> Page[Turn]:
    keys = order_keys(order_by, ORDERS, AS_RECORDED)
    keys.append(text_key(turn.c.turn_id))
    statement = select(*STORED, HAS_EMBEDDING).where(in_tenant(turn, connection), matching(query))
    return await fetch_page(
        connection,
        statement,
        keys,
        page,
        lambda row: turn_from(row, connection),
        _model(connection),
        weight=WEIGHT,
    )


def searched(query: TurnQuery) -> Searched:
    return Searched(turn, turn_embedding, "turn_id", "create_time", matching(query))
