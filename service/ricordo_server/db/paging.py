"""Keyset paging: a page continues behind a row, so that writes between two pages neither repeat nor skip rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, Text, and_, func, literal, literal_column, or_, select

from ricordo_server.db.connection import Connection, Row
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.limits import MAX_ANSWER_BYTES
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.shared_loop import in_slices

Item = TypeVar("Item")

WEIGHTLESS: ColumnElement[int] = literal(0)


@dataclass(frozen=True)
class OrderKey:
    """An expression that is never NULL, with the Python type of its values."""

    expression: ColumnElement[Any]
    type: type
    descending: bool = False


def order_keys(
    order_by: Sequence[OrderBy], accepted: Mapping[str, OrderKey], default: Sequence[OrderBy]
) -> list[OrderKey]:
    """The keys a caller asked for.

    Raises:
        DomainError: INVALID_FIELD naming the accepted fields.
    """
    keys = []
    for number, key in enumerate(order_by or default):
        if key.field not in accepted:
            names = ", ".join(accepted)
            raise invalid_field(
                f"order_by[{number}].field", f"cannot order by {key.field!r}; accepted: {names}"
            )
        known = accepted[key.field]
        keys.append(OrderKey(known.expression, known.type, key.descending))
    return keys


async def fetch_page(
    connection: Connection,
    statement: Select[Any],
    keys: Sequence[OrderKey],
    page: PageRequest,
    read: Callable[[Row], Item],
    parameters: Mapping[str, Any] | None = None,
    *,
    weight: ColumnElement[int] = WEIGHTLESS,
) -> Page[Item]:
    """Runs the statement for one page; the last key must be unique.

    `weight` is about how many bytes a row has. Rows that start past an answer's bound stay in the database: a page of
    1,000 rows of 256 KiB would otherwise come here to be thrown away.
    """
    labels = [f"order_{number}" for number in range(len(keys))]
    statement = statement.add_columns(
        *(key.expression.label(label) for key, label in zip(keys, labels, strict=True)),
        weight.label("weight"),
    )
    if page.after is not None:
        statement = statement.where(_behind(keys, _checked(keys, page.after)))
    ordering = [_ordered(key.expression, key) for key in keys]
    found = statement.order_by(*ordering).limit(page.size + 1)
    rows = await connection.fetch_all(_within_an_answer(found, keys, labels), parameters)
    cut = bool(rows) and rows[-1]["weight_before"] + rows[-1]["weight"] >= MAX_ANSWER_BYTES
    kept = rows[: page.size]
    positions = [[row[label] for label in labels] for row in kept]
    items = [read(row) async for row in in_slices(kept)]
    return Page(items, positions, has_more=cut or len(rows) > page.size)


def _within_an_answer(found: Select[Any], keys: Sequence[OrderKey], labels: Sequence[str]) -> Select[Any]:
    """The rows of a page up to the one that crosses the bound.

    Columns by name: a `subquery().c` is made anew for each call, which takes longer than all else of a statement.
    """
    every: ColumnElement[Any] = literal_column("*")
    place = [_ordered(literal_column(label), key) for key, label in zip(keys, labels, strict=True)]
    before: ColumnElement[int] = func.coalesce(
        func.sum(literal_column("weight")).over(order_by=place, rows=(None, -1)), 0
    )
    weighed = select(every, before.label("weight_before")).select_from(found.subquery()).subquery()
    within = literal_column("weight_before") < MAX_ANSWER_BYTES
    return select(every).select_from(weighed).where(within).order_by(*place)


def _ordered(expression: ColumnElement[Any], key: OrderKey) -> ColumnElement[Any]:
    return expression.desc() if key.descending else expression.asc()


def _checked(keys: Sequence[OrderKey], after: Sequence[Any]) -> Sequence[Any]:
    if len(after) != len(keys) or any(
        type(value) is not key.type for key, value in zip(keys, after, strict=True)
    ):
        message = "the page token belongs to another query: start without one"
        raise DomainError(Reason.INVALID_PAGE_TOKEN, message, "page_token")
    return after


def _behind(keys: Sequence[OrderKey], after: Sequence[Any]) -> ColumnElement[bool]:
    """Row comparison spelled out, since the keys may run in different directions."""
    alternatives = []
    for number, (key, value) in enumerate(zip(keys, after, strict=True)):
        bound = literal(value, key.expression.type)
        beyond = key.expression < bound if key.descending else key.expression > bound
        equal = [
            earlier.expression == literal(same, earlier.expression.type)
            for earlier, same in zip(keys[:number], after[:number], strict=True)
        ]
        alternatives.append(and_(*equal, beyond))
    return or_(*alternatives)


def bytes_of(*columns: ColumnElement[Any]) -> ColumnElement[int]:
    """About how much the values take: text by its length, anything else as it is stored."""
    sizes = [
        func.octet_length(column) if isinstance(column.type, Text) else func.pg_column_size(column)
        for column in columns
    ]
    return sum((func.coalesce(size, 0) for size in sizes[1:]), start=sizes[0])


def time_key(expression: ColumnElement[datetime]) -> OrderKey:
    return OrderKey(expression, datetime)


def text_key(expression: ColumnElement[str]) -> OrderKey:
    return OrderKey(expression, str)
