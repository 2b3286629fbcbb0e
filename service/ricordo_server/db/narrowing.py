"""What an index can say of a filter before its own conditions are asked.

Under row-level security a condition on jsonb reads every row of the tenant. A condition on `memory_attribute` is
served by an index, and lets through all that the filter does: perhaps more, since long texts are cut and numbers
rounded there. So it narrows, and never decides: the filter's conditions hold beside it. What stands under `Negated`
narrows nothing, since more on the inside would be less on the outside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Select, Text, and_, any_, literal, or_, select, true

from ricordo_server.db.conditions import in_tenant
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.tables import memory, memory_attribute
from ricordo_server.db.text_filters import ORDERS, starts_with
from ricordo_server.domain.attributes import INDEXED_CHARACTERS, indexed
from ricordo_server.domain.declarations import METADATA, VALUE_TYPES, declared_type
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_check import type_of
from ricordo_server.domain.project_settings import ProjectSettings

KEY, VALUE = memory_attribute.c.key, memory_attribute.c.value
# Each is one more statement; the filter's other conditions hold without.
MOST_NARROWINGS = 4
# Above, a filter is asked of the rows in their own order: more ids than a page is ever made of would be read.
MOST_IDS = 2_000
INCLUSIVE: Mapping[Comparator, Comparator] = {
    Comparator.LT: Comparator.LE,
    Comparator.LE: Comparator.LE,
    Comparator.GT: Comparator.GE,
    Comparator.GE: Comparator.GE,
}


@dataclass(frozen=True)
class Narrowing:
    """A condition on `memory_attribute`; on the rows of one key, or None of several."""

    key: str | None
    condition: ColumnElement[bool]


async def narrow(connection: TenantConnection, tree: Filter | None) -> ColumnElement[bool]:
    """A condition on rows of `memory` that holds wherever the filter does; true where the index says too little.

    The ids are read first, no further than `MOST_IDS`, and then named: a join would be planned by what PostgreSQL
    guesses of the conditions on jsonb, and it guesses that they leave next to nothing.
    """
    if tree is None or not connection.settings.declared:
        return true()
    async with connection.pipeline():
        cursors = [
            await connection.execute(_ids_where(connection, narrowing.condition))
            for narrowing in _narrow(tree, connection.settings)[:MOST_NARROWINGS]
        ]
        found = [[row["memory_id"] for row in await cursor.fetchall()] for cursor in cursors]
    few = [set(memory_ids) for memory_ids in found if len(memory_ids) <= MOST_IDS]
    if not few:
        return true()
    return memory.c.memory_id == any_(literal(sorted(set.intersection(*few)), ARRAY(Text)))


def _ids_where(connection: TenantConnection, condition: ColumnElement[bool]) -> Select[Any]:
    of_tenant = in_tenant(memory_attribute, connection)
    return select(memory_attribute.c.memory_id).where(of_tenant, condition).limit(MOST_IDS + 1)


def _narrow(tree: Filter, settings: ProjectSettings) -> list[Narrowing]:
    """A memory for which the filter holds has a row for each of them."""
    match tree:
        case AllOf(parts=parts):
            return _merged([each for part in parts for each in _narrow(part, settings)])
        case AnyOf(parts=parts):
            found = [_narrow(part, settings)[:1] for part in parts]
            return [Narrowing(None, or_(*(each.condition for [each] in found)))] if all(found) else []
        case Negated():
            return []
        case Comparison():
            condition = _compare(tree, settings)
            key = ".".join(tree.path[1:])
            return [] if condition is None else [Narrowing(key, and_(literal(key, Text) == KEY, condition))]


def _merged(found: Sequence[Narrowing]) -> list[Narrowing]:
    """Those on one key into one, since a memory has one value of it: two bounds make a range."""
    keys = dict.fromkeys(each.key for each in found if each.key is not None)
    of_keys = [Narrowing(key, and_(*(each.condition for each in found if each.key == key))) for key in keys]
    return [*of_keys, *(each for each in found if each.key is None)]


def _compare(comparison: Comparison, settings: ProjectSettings) -> ColumnElement[bool] | None:
    """None where the index knows nothing: of keys that are not declared, of null, and of operands of another type."""
    declared = declared_type(settings, comparison) if comparison.path[0] == METADATA else None
    if declared is None or any(type_of(value) is not VALUE_TYPES[declared] for value in comparison.values):
        return None
    operands = [indexed(value) for value in comparison.values]
    match comparison.comparator:
        case Comparator.HAS:
            return None
        case Comparator.EXISTS | Comparator.CONTAINS | Comparator.MATCHES:
            return true()
        case Comparator.EQ | Comparator.IN:
            return any_(literal(operands, ARRAY(Text))) == VALUE
        case Comparator.PREFIX:
            return starts_with(VALUE, operands[0][:INDEXED_CHARACTERS])
        case _:
            return ORDERS[INCLUSIVE[comparison.comparator]](VALUE, literal(operands[0], Text))
