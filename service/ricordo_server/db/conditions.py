"""The conditions that reads share, as Core expressions on a table's own columns."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Label,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)

from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.scope import Exactly, Matching, ReadableBy, ScopeFilter, Visibility


def in_tenant(table: Table | FromClause, connection: TenantConnection) -> ColumnElement[bool]:
    """The second wall beside the policy; also what keeps a plan for one tenant from serving another."""
    return and_(table.c.project_id == connection.project_id, table.c.store_id == connection.store_id)


def in_scope(table: Table, scope: ScopeFilter) -> ColumnElement[bool]:
    match scope:
        case Exactly(exact):
            return table.c.scope_key == exact.key
        case ReadableBy(user_id, session_id):
            own = table.c.user_id == user_id
            readable = or_(own, table.c.visibility == Visibility.PROJECT) if "visibility" in table.c else own
            return readable if session_id is None else and_(readable, table.c.session_id == session_id)
        case Matching(given):
            conditions = [
                table.c.labels.op("->>")(name) == value for name, value in sorted(given.labels.items())
            ]
            if given.user_id is not None:
                conditions.append(table.c.user_id == given.user_id)
            if given.session_id is not None:
                conditions.append(table.c.session_id == given.session_id)
            return and_(true(), *conditions)


def is_live(table: Table | FromClause) -> ColumnElement[bool]:
    """Neither deleted nor expired."""
    return and_(table.c.delete_time.is_(None), is_unexpired(table))


def is_unexpired(table: Table | FromClause) -> ColumnElement[bool]:
    return or_(table.c.expire_time.is_(None), table.c.expire_time > func.now())


def one_of(column: ColumnElement[str], values: Sequence[str]) -> ColumnElement[bool]:
    """No values: no restriction."""
    return column == func.any(literal(list(values))) if values else true()


def is_among(column: ColumnElement[str], ids: Select[Any]) -> ColumnElement[bool]:
    """As IN, but the ids are read first and once: no join is made of it.

    Rows that were written a moment ago are in no statistics: all of a tenant's are taken for one, and a join may
    compare each with each.
    """
    return column == func.any(func.array(ids.scalar_subquery()))


def has_embedding(table: Table, vectors: Table, item_id: str) -> Label[bool]:
    """Whether the row has vectors of the model whose number the parameter `model_id` is."""
    of_model = and_(vectors.c.model_id == bindparam("model_id"), vectors.c.embedding.is_not(None))
    return exists(select(1).where(same_row(table, vectors, item_id), of_model)).label("has_embedding")


def same_row(table: Table, vectors: Table, item_id: str) -> ColumnElement[bool]:
    """Joins vectors to what they stand for."""
    return and_(*(vectors.c[name] == table.c[name] for name in ("project_id", "store_id", item_id)))
