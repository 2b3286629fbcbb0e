"""Statements on operations. One that is over is never changed: each change asks for an open one."""

from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, update

from ricordo_server.db.conditions import in_scope, in_tenant
from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.paging import fetch_page, text_key, time_key
from ricordo_server.db.rows import scope_columns, scope_from
from ricordo_server.db.tables import operation
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.generation import Dropped
from ricordo_server.domain.memory import RevisionAction
from ricordo_server.domain.operation import Made, MadeRevision, Operation, OperationDraft, OperationKind
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.scope import Scope, ScopeFilter

READ = [column for column in operation.c if column.name != "request"]


def operation_from(row: Row, connection: TenantConnection) -> Operation:
    return Operation(
        operation_id=row["operation_id"],
        store_id=connection.store_name,
        kind=OperationKind(row["kind"]),
        scope=scope_from(row),
        create_time=row["create_time"],
        end_time=row["end_time"],
        attempts=row["attempts"],
        failure_class=FailureClass(row["failure_class"]) if row["failure_class"] else None,
        error=_error_from(row["error"]) if row["error"] else None,
        made=_made_from(row["result"]) if row["result"] else None,
    )


def _error_from(stored: Row) -> DomainError:
    return DomainError(Reason(stored["reason"]), stored["message"], stored["field"])


def _made_from(stored: Row) -> Made:
    revisions = [
        MadeRevision(**{**each, "action": RevisionAction(each["action"])}) for each in stored["revisions"]
    ]
    return Made(revisions, Dropped(**stored["dropped"]))


def _is(connection: TenantConnection, operation_id: str) -> ColumnElement[bool]:
    return and_(in_tenant(operation, connection), operation.c.operation_id == operation_id)


def _is_open(connection: TenantConnection, operation_id: str) -> ColumnElement[bool]:
    return and_(_is(connection, operation_id), operation.c.end_time.is_(None))


async def insert_operation(
    connection: TenantConnection, operation_id: str, draft: OperationDraft
) -> Operation:
    statement = insert(operation).values(
        **connection.key,
        **scope_columns(draft.scope),
        labels=Jsonb(dict(draft.scope.labels)),
        operation_id=operation_id,
        kind=draft.kind,
        principal_id=connection.principal_id,
        request=draft.request,
    )
    row = await connection.fetch_one(statement.returning(*READ))
    assert row is not None  # noqa: S101 - it was inserted
    return operation_from(row, connection)


async def get_operation(connection: TenantConnection, operation_id: str) -> Operation | None:
    row = await connection.fetch_one(select(*READ).where(_is(connection, operation_id)))
    return operation_from(row, connection) if row else None


async def list_operations(
    connection: TenantConnection, scope: ScopeFilter, page: PageRequest
) -> Page[Operation]:
    """Newest first."""
    newest = replace(time_key(operation.c.create_time), descending=True)
    statement = select(*READ).where(in_tenant(operation, connection), in_scope(operation, scope))
    keys = [newest, text_key(operation.c.operation_id)]
    return await fetch_page(connection, statement, keys, page, lambda row: operation_from(row, connection))


async def hold_open(connection: TenantConnection, operation_id: str) -> Made | None:
    """What an open operation made so far; it stays open until the transaction ends. None when it is over, or gone."""
    statement = select(operation.c.result).where(_is_open(connection, operation_id)).with_for_update()
    row = await connection.fetch_one(statement)
    if row is None:
        return None
    return _made_from(row["result"]) if row["result"] else Made((), Dropped())


async def hold_of_session(connection: TenantConnection, scope: Scope) -> Operation | None:
    """The open operation of a session that is held, at most one. It stays open until the transaction ends."""
    statement = select(*READ).where(
        in_tenant(operation, connection),
        operation.c.scope_key == scope.key,
        operation.c.kind == OperationKind.EXTRACT_SESSION,
        operation.c.end_time.is_(None),
    )
    row = await connection.fetch_one(statement.with_for_update())
    return operation_from(row, connection) if row else None


async def keep_made(connection: TenantConnection, operation_id: str, made: Made) -> None:
    """What an open operation, which is held, made so far."""
    statement = update(operation).where(_is_open(connection, operation_id)).values(result=_result(made))
    await connection.execute(statement)


async def get_open_request(connection: TenantConnection, operation_id: str) -> bytes | None:
    """What it was asked for with; None when it is over, or gone."""
    statement = select(operation.c.request).where(_is_open(connection, operation_id))
    row = await connection.fetch_one(statement)
    return bytes(row["request"]) if row else None


async def finish_operation(connection: TenantConnection, operation_id: str, made: Made) -> bool:
    """Ends it with a result; False when it is over already, or gone."""
    return await _end(connection, operation_id, result=_result(made))


def _result(made: Made) -> Jsonb:
    return Jsonb({"revisions": [asdict(each) for each in made.revisions], "dropped": asdict(made.dropped)})


async def fail_operation(connection: TenantConnection, operation_id: str, error: DomainError) -> bool:
    """Ends it without a result; False when it is over already, or gone."""
    stored = {"reason": error.reason, "message": error.message, "field": error.field}
    return await _end(connection, operation_id, error=Jsonb(stored))


async def _end(connection: TenantConnection, operation_id: str, **outcome: Any) -> bool:
    """What it was asked for with is needed no more."""
    values = {**outcome, "request": None, "end_time": func.clock_timestamp()}
    statement = update(operation).where(_is_open(connection, operation_id)).values(values)
    return (await connection.execute(statement)).rowcount == 1


async def note_attempt(connection: TenantConnection, operation_id: str, failure_class: FailureClass) -> None:
    values: dict[str, Any] = {"attempts": operation.c.attempts + 1, "failure_class": failure_class}
    await connection.execute(update(operation).where(_is_open(connection, operation_id)).values(values))


async def delete_old_operations(
    connection: TenantConnection, *, after_end: timedelta, after_start: timedelta, most: int
) -> int:
    """Removes those that ended, or began, so long ago; answers how many."""
    is_old = or_(
        operation.c.end_time < func.now() - after_end, operation.c.create_time < func.now() - after_start
    )
    old = select(operation.c.operation_id).where(in_tenant(operation, connection), is_old)
    ids = old.limit(most).with_for_update(skip_locked=True)
    statement = delete(operation).where(in_tenant(operation, connection), operation.c.operation_id.in_(ids))
    return (await connection.execute(statement)).rowcount
