"""Statements on snapshots, what is extracted from them, and how far a session is."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    and_,
    bindparam,
    func,
    insert,
    literal,
    select,
    update,
)

from ricordo_server.db.conditions import in_scope, in_tenant, one_of
from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.paging import bytes_of, fetch_page, order_keys, text_key, time_key
from ricordo_server.db.rows import backlog_from, scope_columns, scope_from
from ricordo_server.db.sql import load_sql
from ricordo_server.db.tables import extraction, session, snapshot, turn
from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.promotion import Backlog
from ricordo_server.domain.scope import Scope, ScopeFilter
from ricordo_server.domain.snapshot import (
    ExtractionFailure,
    ExtractionState,
    KindExtraction,
    KindProgress,
    PromotionCause,
    Snapshot,
)

WEIGHT = bytes_of(snapshot.c.summary)
ORDERS = {"create_time": time_key(snapshot.c.create_time)}
INCOMPLETE = "a turn has more to say than output_tokens hold: what is here is what came before the cut"
CANCELLED = "its operation was cancelled"
OF_FAILURE = ("kind", "attempts", "failure_class", "error", "update_time")
SAME_SNAPSHOT = and_(
    *(snapshot.c[name] == extraction.c[name] for name in ("project_id", "store_id", "snapshot_id"))
)


def _insert(table: Any, names: Sequence[str]) -> Any:
    return insert(table).values({name: bindparam(f"new_{name}", type_=table.c[name].type) for name in names})


INSERT_SNAPSHOT = _insert(
    snapshot,
    ["project_id", "store_id", "snapshot_id", "scope_key", "user_id", "session_id", "labels",
     "from_seq", "to_seq", "context_from_seq", "cause", "operation_id", "generation_options"],
)  # fmt: skip
INSERT_EXTRACTION = _insert(extraction, ["project_id", "store_id", "snapshot_id", "kind", "user_id", "state"])


async def lock_backlog(connection: TenantConnection, scope_key: str) -> tuple[Scope, Backlog] | None:
    """Holds a session until the transaction ends, and says where it is; None when there is no such session."""
    statement = select(session).where(in_tenant(session, connection), session.c.scope_key == scope_key)
    row = await connection.fetch_one(statement.with_for_update())
    if row is None:
        return None
    backlog = backlog_from(row, row["next_seq"] - 1)
    first = await _first_waiting_time(connection, scope_key, backlog)
    return scope_from(row), replace(backlog, first_waiting_time=first)


async def _first_waiting_time(
    connection: TenantConnection, scope_key: str, backlog: Backlog
) -> datetime | None:
    """Only a rule with an interval asks for it."""
    if backlog.rule is None or backlog.rule.interval_seconds is None:
        return None
    statement = select(func.min(turn.c.create_time).label("first")).where(
        in_tenant(turn, connection), turn.c.scope_key == scope_key, turn.c.turn_seq > backlog.promoted_seq
    )
    row = await connection.fetch_one(statement)
    return row["first"] if row else None


async def insert_snapshots(
    connection: TenantConnection,
    scope: Scope,
    runs: Sequence[tuple[str, int, int]],
    *,
    overlap: int,
    cause: PromotionCause,
    kinds: Sequence[MemoryKind],
    state: ExtractionState = ExtractionState.PENDING,
    operation_id: str | None = None,
    options: bytes | None = None,
) -> None:
    """One snapshot for each (id, first, last), every kind in this state; the session moves behind them.

    They are the operation's, if any; `options` were said for them, and for nothing that comes later.
    """
    shared = {
        **connection.key,
        **scope_columns(scope),
        "labels": Jsonb(dict(scope.labels)),
        "cause": cause,
        "operation_id": operation_id,
        "generation_options": options,
    }
    snapshots = [
        {
            **shared,
            "snapshot_id": name,
            "from_seq": first,
            "to_seq": last,
            "context_from_seq": max(1, first - overlap),
        }
        for name, first, last in runs
    ]
    extractions = [
        {**connection.key, "snapshot_id": name, "kind": kind, "user_id": scope.user_id, "state": state}
        for name, _, _ in runs
        for kind in kinds
    ]
    await connection.execute_many(INSERT_SNAPSHOT, [_named(row) for row in snapshots])
    await connection.execute_many(INSERT_EXTRACTION, [_named(row) for row in extractions])
    await connection.execute(
        _change_session(connection, scope.key, promoted_seq=runs[-1][2], generation_options=None)
    )


def _named(row: Row) -> Row:
    return {f"new_{name}": value for name, value in row.items()}


async def set_pending(connection: TenantConnection, scope_key: str, *, pending: bool) -> None:
    await connection.execute(_change_session(connection, scope_key, promotion_pending=pending))


def _change_session(connection: TenantConnection, scope_key: str, **values: object) -> Any:
    return (
        update(session).where(in_tenant(session, connection), session.c.scope_key == scope_key).values(values)
    )


async def list_overdue(connection: TenantConnection, *, age: timedelta, most: int) -> list[str]:
    """Scope keys of sessions with turns in no snapshot that were used last so long ago, the newest first: of some
    scopes nothing is ever extracted, and they stay.
    """
    statement = select(session.c.scope_key).where(
        in_tenant(session, connection),
        session.c.last_activity_time < func.now() - age,
        session.c.next_seq - 1 > session.c.promoted_seq,
    )
    newest = statement.order_by(session.c.last_activity_time.desc()).limit(most)
    return [row["scope_key"] for row in await connection.fetch_all(newest)]


def snapshot_from(
    row: Row, connection: TenantConnection, extractions: Sequence[KindExtraction] = ()
) -> Snapshot:
    return Snapshot(
        snapshot_id=row["snapshot_id"],
        store_id=connection.store_name,
        scope=scope_from(row),
        from_seq=row["from_seq"],
        to_seq=row["to_seq"],
        context_from_seq=row["context_from_seq"],
        cause=PromotionCause(row["cause"]),
        summary=row["summary"],
        create_time=row["create_time"],
        extractions=extractions,
        operation_id=row["operation_id"],
        options=row["generation_options"],
    )


def _is(connection: TenantConnection, snapshot_id: str, kind: MemoryKind) -> ColumnElement[bool]:
    return and_(
        in_tenant(extraction, connection), extraction.c.snapshot_id == snapshot_id, extraction.c.kind == kind
    )


async def get_pending(connection: TenantConnection, snapshot_id: str, kind: MemoryKind) -> Snapshot | None:
    """The snapshot if this kind is still to be extracted from it."""
    is_pending = and_(_is(connection, snapshot_id, kind), extraction.c.state == ExtractionState.PENDING)
    statement = select(snapshot).where(
        in_tenant(snapshot, connection),
        snapshot.c.snapshot_id == snapshot_id,
        select(extraction.c.kind).where(is_pending).exists(),
    )
    row = await connection.fetch_one(statement)
    return snapshot_from(row, connection) if row else None


async def finish_extraction(
    connection: TenantConnection, snapshot_id: str, kind: MemoryKind, *, is_whole: bool
) -> bool:
    """Marks the kind extracted; False when somebody else has, or the snapshot is gone.

    What is not whole is given up instead: what there is of it is kept, and that it is not all can be seen.
    """
    done = {"state": ExtractionState.DONE}
    given_up = {
        "state": ExtractionState.FAILED,
        "attempts": extraction.c.attempts + 1,
        "failure_class": FailureClass.CONTENT,
        "error": INCOMPLETE,
    }
    statement = (
        update(extraction)
        .where(_is(connection, snapshot_id, kind), extraction.c.state == ExtractionState.PENDING)
        .values({**(done if is_whole else given_up), "update_time": func.clock_timestamp()})
    )
    return (await connection.execute(statement)).rowcount == 1


async def set_summary(connection: TenantConnection, snapshot_id: str, summary: str) -> None:
    statement = update(snapshot).where(in_tenant(snapshot, connection), snapshot.c.snapshot_id == snapshot_id)
    await connection.execute(statement.values(summary=summary))


async def clear_summaries(connection: TenantConnection, scope: Scope, turn_seqs: Sequence[int]) -> None:
    """Of the snapshots that these turns were read in: a summary says what they said."""
    if not turn_seqs:
        return
    seqs = func.unnest(literal(list(turn_seqs), ARRAY(BigInteger))).column_valued("seq")
    read = select(seqs).where(seqs.between(snapshot.c.context_from_seq, snapshot.c.to_seq)).exists()
    statement = update(snapshot).where(
        in_tenant(snapshot, connection), snapshot.c.scope_key == scope.key, snapshot.c.summary != "", read
    )
    await connection.execute(statement.values(summary=""))


async def note_failure(
    connection: TenantConnection,
    snapshot_id: str,
    kind: MemoryKind,
    failure_class: FailureClass,
    error: str,
    *,
    is_final: bool,
) -> None:
    """Counts a failed attempt, and keeps why it failed; a final one gives the extraction up."""
    values = {"attempts": extraction.c.attempts + 1, "failure_class": failure_class, "error": error}
    statement = (
        update(extraction)
        .where(_is(connection, snapshot_id, kind), extraction.c.state == ExtractionState.PENDING)
        .values({**values, "update_time": func.clock_timestamp()})
    )
    await connection.execute(statement.values(state=ExtractionState.FAILED) if is_final else statement)


async def give_up_operation(connection: TenantConnection, operation_id: str) -> None:
    """What still is to be extracted of an operation's snapshots is given up, since nobody wants it."""
    given_up = {"state": ExtractionState.FAILED, "failure_class": FailureClass.CANCELLED, "error": CANCELLED}
    statement = (
        update(extraction)
        .where(in_tenant(extraction, connection), extraction.c.state == ExtractionState.PENDING)
        .where(_of_operation(connection, operation_id))
        .values({**given_up, "update_time": func.clock_timestamp()})
    )
    await connection.execute(statement)


async def count_states(connection: TenantConnection, operation_id: str) -> dict[ExtractionState, int]:
    """How many extractions of an operation's snapshots are in each state."""
    statement = (
        select(extraction.c.state, func.count().label("count"))
        .where(in_tenant(extraction, connection), _of_operation(connection, operation_id))
        .group_by(extraction.c.state)
    )
    return {ExtractionState(row["state"]): row["count"] for row in await connection.fetch_all(statement)}


def _of_operation(connection: TenantConnection, operation_id: str) -> ColumnElement[bool]:
    own = select(snapshot.c.snapshot_id).where(
        in_tenant(snapshot, connection), snapshot.c.operation_id == operation_id
    )
    return extraction.c.snapshot_id.in_(own)


async def list_snapshots(
    connection: TenantConnection, scope: ScopeFilter, order_by: Sequence[OrderBy], page: PageRequest
) -> Page[Snapshot]:
    keys = [*order_keys(order_by, ORDERS, [OrderBy("create_time")]), text_key(snapshot.c.snapshot_id)]
    statement = select(snapshot).where(in_tenant(snapshot, connection), in_scope(snapshot, scope))
    found = await fetch_page(
        connection, statement, keys, page, lambda row: snapshot_from(row, connection), weight=WEIGHT
    )
    extractions = await _extractions_of(connection, [each.snapshot_id for each in found.items])
    items = [replace(each, extractions=extractions.get(each.snapshot_id, ())) for each in found.items]
    return replace(found, items=items)


async def _extractions_of(
    connection: TenantConnection, snapshot_ids: Sequence[str]
) -> dict[str, list[KindExtraction]]:
    if not snapshot_ids:
        return {}
    statement = select(extraction).where(
        in_tenant(extraction, connection), one_of(extraction.c.snapshot_id, snapshot_ids)
    )
    found: dict[str, list[KindExtraction]] = {}
    for row in await connection.fetch_all(statement.order_by(extraction.c.kind)):
        failure = FailureClass(row["failure_class"]) if row["failure_class"] else None
        each = KindExtraction(
            MemoryKind(row["kind"]), ExtractionState(row["state"]), row["attempts"], failure
        )
        found.setdefault(row["snapshot_id"], []).append(each)
    return found


async def read_progress(connection: TenantConnection, scope: Scope) -> list[KindProgress]:
    rows = await connection.fetch_all(load_sql("read_progress"), {**connection.key, "scope_key": scope.key})
    return [
        KindProgress(
            MemoryKind(row["kind"]),
            row["extracted_seq"],
            row["pending"],
            row["failed"],
            FailureClass(row["last_failure_class"]) if row["last_failure_class"] else None,
        )
        for row in rows
    ]


async def list_failures(
    connection: TenantConnection, scope: ScopeFilter, page: PageRequest
) -> Page[ExtractionFailure]:
    """Newest first."""
    statement = (
        select(snapshot, *(extraction.c[name] for name in OF_FAILURE))
        .select_from(snapshot.join(extraction, SAME_SNAPSHOT))
        .where(in_tenant(snapshot, connection), in_tenant(extraction, connection), in_scope(snapshot, scope))
        .where(extraction.c.state == ExtractionState.FAILED)
    )
    newest = replace(time_key(extraction.c.update_time), descending=True)
    keys = [newest, text_key(extraction.c.snapshot_id), text_key(extraction.c.kind.collate("C"))]
    return await fetch_page(
        connection, statement, keys, page, lambda row: _failure_from(row, connection), weight=WEIGHT
    )


def _failure_from(row: Row, connection: TenantConnection) -> ExtractionFailure:
    return ExtractionFailure(
        connection.store_name,
        scope_from(row),
        row["snapshot_id"],
        row["from_seq"],
        row["to_seq"],
        MemoryKind(row["kind"]),
        row["attempts"],
        FailureClass(row["failure_class"]),
        row["error"],
        row["update_time"],
    )


async def reopen_extraction(
    connection: TenantConnection,
    snapshot_id: str,
    kind: MemoryKind,
    *,
    was: ExtractionState = ExtractionState.FAILED,
) -> Scope | None:
    """What `was` given up, or done, is still to be extracted; answers the session's scope, None if it was not so."""
    reopened = (
        update(extraction)
        .where(_is(connection, snapshot_id, kind), extraction.c.state == was)
        .values(state=ExtractionState.PENDING, attempts=0, update_time=func.clock_timestamp())
    )
    if (await connection.execute(reopened)).rowcount == 0:
        return None
    statement = select(snapshot).where(in_tenant(snapshot, connection), snapshot.c.snapshot_id == snapshot_id)
    row = await connection.fetch_one(statement)
    return scope_from(row) if row else None
