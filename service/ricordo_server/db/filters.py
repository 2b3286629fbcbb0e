"""A filter tree as one condition on the rows of `memory`, `turn` or `session`; it names their columns only.

A condition is NULL where a comparison has nothing to compare. WHERE takes that for false, and `Negated` turns it
round as false, so a row without the key equals nothing. It is not made false at each comparison, which would keep
every index from serving it.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    DateTime,
    FromClause,
    Numeric,
    Text,
    and_,
    any_,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.types import TypeEngine

from ricordo_server.db.metadata_filters import compare_metadata, exact_number, find_value
from ricordo_server.db.text_filters import ORDERS, compare_text
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_fields import (
    MEMORY_FIELDS,
    SESSION_FIELDS,
    TURN_FIELDS,
    FieldType,
    FilterFields,
)

# A name means the same in each table that has it.
FIELDS = FilterFields({**MEMORY_FIELDS.types, **TURN_FIELDS.types, **SESSION_FIELDS.types})
COLUMNS = {"fact": "content"}
TOPIC_PREFIXES = ("managed:", "custom:")


def compile_filter(tree: Filter, table: FromClause) -> ColumnElement[bool]:
    """`tree` has passed `check_filter` with the fields of `table`, one of the three tables or an alias of one."""
    match tree:
        case AllOf(parts=parts):
            return and_(*(compile_filter(part, table) for part in parts))
        case AnyOf(parts=parts):
            return or_(*(compile_filter(part, table) for part in parts))
        case Negated(part=part):
            return compile_filter(part, table).is_not(true())
        case Comparison():
            return _compare(tree, table)


def _compare(comparison: Comparison, table: FromClause) -> ColumnElement[bool]:
    name, *rest = comparison.path
    field = table.c[COLUMNS.get(name, name)]
    comparator, operands = comparison.comparator, comparison.values
    match FIELDS.find(comparison.path):
        case FieldType.METADATA:
            return compare_metadata(find_value(field, rest), comparator, operands)
        case FieldType.LABEL:
            label = field.op("->>", return_type=Text())(literal(rest[0], Text))
            return compare_text(label, comparator, operands)
        case FieldType.LIST:
            return _compare_list(field, _stored_prefixes(comparison.path), comparator, operands)
        case FieldType.TIME:
            return _compare_ordered(field, comparator, operands, DateTime(timezone=True))
        case FieldType.NUMBER:
            return _compare_number(field, comparator, operands)
        case _:
            return compare_text(field, comparator, operands)


def _stored_prefixes(path: Sequence[str]) -> tuple[str, ...]:
    match tuple(path):
        case ("topics",):
            return TOPIC_PREFIXES
        case ("topics", which):
            return (f"{which}:",)
        case _:
            return ("",)


def _compare_list(
    items: ColumnElement[Any], prefixes: Sequence[str], comparator: Comparator, operands: Sequence[Any]
) -> ColumnElement[bool]:
    if comparator is Comparator.HAS:
        [operand] = operands
        return or_(*(literal(prefix + operand, Text) == any_(items) for prefix in prefixes))
    item = func.unnest(items).table_valued(column("value", Text)).render_derived()
    stored = or_(*(func.starts_with(item.c.value, literal(prefix, Text)) for prefix in prefixes))
    return select(literal_column("1")).select_from(item).where(stored).exists()


def _compare_number(
    field: ColumnElement[Any], comparator: Comparator, operands: Sequence[Any]
) -> ColumnElement[bool]:
    """Integers keep the column's type, so that an index may serve them."""
    if all(isinstance(operand, int) for operand in operands):
        return _compare_ordered(field, comparator, operands, BigInteger())
    return _compare_ordered(field, comparator, [exact_number(operand) for operand in operands], Numeric())


def _compare_ordered(
    field: ColumnElement[Any], comparator: Comparator, operands: Sequence[Any], kind: TypeEngine[Any]
) -> ColumnElement[bool]:
    match comparator:
        case Comparator.EXISTS:
            return field.is_not(None)
        case Comparator.IN:
            return field == any_(literal(list(operands), ARRAY(kind)))
        case Comparator.EQ:
            return field == literal(operands[0], kind)
        case _:
            return ORDERS[comparator](field, literal(operands[0], kind))
