"""Keyset paging: a page continues behind a row, so that writes between two pages neither repeat nor skip rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, and_, literal, or_

from ricordo_server.db.connection import Connection, Row
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.paging import OrderBy, Page, PageRequest

Item = TypeVar("Item")


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
) -> Page[Item]:
    """Runs the statement for one page; the last key must be unique."""
    labels = [f"order_{number}" for number in range(len(keys))]
    statement = statement.add_columns(
        *(key.expression.label(label) for key, label in zip(keys, labels, strict=True))
    )
    if page.after is not None:
        statement = statement.where(_behind(keys, _checked(keys, page.after)))
    ordering = [key.expression.desc() if key.descending else key.expression.asc() for key in keys]
    rows = await connection.fetch_all(statement.order_by(*ordering).limit(page.size + 1), parameters)
    positions = [[row[label] for label in labels] for row in rows[: page.size]]
    return Page([read(row) for row in rows[: page.size]], positions, has_more=len(rows) > page.size)


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


def time_key(expression: ColumnElement[datetime]) -> OrderKey:
    return OrderKey(expression, datetime)


def text_key(expression: ColumnElement[str]) -> OrderKey:
    return OrderKey(expression, str)
