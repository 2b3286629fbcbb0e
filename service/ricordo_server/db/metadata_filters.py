"""Conditions on a metadata value, in the stored form of `domain.metadata`.

Equality is that of values, lists and maps included, with numbers compared numerically: both sides are brought to a
comparable form, which jsonb compares. Every cast stands in a CASE, behind the type of what it casts.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Double,
    Numeric,
    Text,
    and_,
    any_,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB, array

from ricordo_server.db.connection import DIALECT
from ricordo_server.db.text_filters import ORDERS, compare_text
from ricordo_server.domain.filter import Comparator
from ricordo_server.domain.metadata import DOUBLE, MAP, TIME, MetadataValue, encode_time, encode_value

Value = ColumnElement[Any]

NESTED = "nested"
DOUBLE_TAG, TIME_TAG, MAP_TAG = (literal_column(f"'{tag}'", Text) for tag in (DOUBLE, TIME, MAP))

# Here a double is a whole number of 64 bits, and its shortest decimal text may be another one:
# 2**62 is written 4.611686018427388e+18. Elsewhere the text compares with integers as the double does.
LEAST_WHOLE = literal_column("9007199254740992::float8", Double)
WHOLE = (
    literal_column("'-9223372036854775808'::float8", Double),
    literal_column("9223372036854774784::float8", Double),
)


def find_value(metadata: Value, keys: Sequence[str]) -> Value:
    """The value at the end of a path through maps, NULL if there is none; `#>` would take "0" for a list's index."""
    value = _member(metadata, literal(keys[0], Text))
    for key in keys[1:]:
        value = _member(_member(value, MAP_TAG), literal(key, Text))
    return value


def compare_metadata(
    value: Value, comparator: Comparator, operands: Sequence[MetadataValue]
) -> ColumnElement[bool]:
    """NULL or false where the value is missing or of another type."""
    match comparator:
        case Comparator.EXISTS:
            return _type_of(value) != literal_column("'null'")
        case Comparator.EQ | Comparator.IN:
            return _is_one_of(value, operands)
        case Comparator.HAS:
            return _has(value, operands)
        case _:
            [operand] = operands
            return _compare_scalar(value, comparator, operand)


def _compare_scalar(value: Value, comparator: Comparator, operand: MetadataValue) -> ColumnElement[bool]:
    match operand:
        case datetime():
            return ORDERS[comparator](
                collate(_text_member(value, TIME_TAG), "C"), literal(encode_time(operand), Text)
            )
        case int() | float():
            return ORDERS[comparator](_number(value), literal(exact_number(operand), Numeric))
        case _:
            return compare_text(_text(value), comparator, [operand])


def _is_one_of(value: Value, operands: Sequence[MetadataValue]) -> ColumnElement[bool]:
    """Only numbers have two stored forms: what holds none is compared as stored."""
    depths = [(operand, _depth_of_numbers(operand)) for operand in operands]
    stored = [encode_value(operand) for operand, depth in depths if depth is None]
    numbers = [exact_number(operand) for operand, depth in depths if depth == 0]
    nested = [(operand, depth) for operand, depth in depths if depth]
    conditions = []
    if stored:
        conditions.append(_in_json(value, stored))
    if numbers:
        conditions.append(_equals(_number(value), any_(literal(numbers, ARRAY(Numeric)))))
    if nested:
        conditions.append(_is_one_of_nested(value, nested))
    return or_(*conditions)


def _is_one_of_nested(value: Value, operands: Sequence[tuple[MetadataValue, int]]) -> ColumnElement[bool]:
    depth = max(depth for _, depth in operands)
    named = func.unnest(array([value])).table_valued(column("value", JSONB)).render_derived(name=NESTED)
    condition = _in_json(
        _comparable_nested(depth), [_comparable_operand(operand, depth) for operand, _ in operands]
    )
    return select(literal_column("1")).select_from(named).where(condition).exists()


@cache
def _comparable_nested(nesting: int) -> Value:
    """Of the value that a FROM names `nested`: ready text without a value in it, since building takes long."""
    value: Value = literal_column(f"{NESTED}.value", JSONB)
    return literal_column(str(_comparable(value, nesting).compile(dialect=DIALECT)), JSONB)


def _in_json(value: Value, wanted: Sequence[Any]) -> ColumnElement[bool]:
    texts = [json.dumps(each) for each in wanted]
    if len(texts) == 1:
        return _equals(value, cast(literal(texts[0], Text), JSONB))
    return _equals(value, any_(cast(literal(texts, ARRAY(Text)), ARRAY(JSONB))))


def _has(value: Value, operands: Sequence[MetadataValue]) -> ColumnElement[bool]:
    items = case((_is_of_type(value, "array"), value), else_=literal_column("'[]'::jsonb"))
    item = func.jsonb_array_elements(items).table_valued(column("value", JSONB)).render_derived()
    return select(literal_column("1")).select_from(item).where(_is_one_of(item.c.value, operands)).exists()


def _comparable(value: Value, nesting: int) -> Value:
    """Numbers as jsonb numbers; lists and maps as {"array": {"1": ...}} and {"object": {...}}.

    Down to the deepest number of what it is compared with: below, both sides are as stored. One form for lists and
    maps, so that each level is written once.
    """
    stored_double = _text_member(value, DOUBLE_TAG)
    scalar = case((stored_double.is_not(None), func.to_jsonb(_exact_double(stored_double))), else_=value)
    if not nesting:
        return scalar
    # Only the call in FROM names `value`: the sub-selects read this row, never a table.
    member = func.jsonb_each(_members(value)).table_valued("key", column("value", JSONB)).render_derived()
    members = func.jsonb_object_agg(member.c.key, _comparable(member.c.value, nesting - 1))
    inner = (
        select(func.coalesce(members, literal_column("'{}'::jsonb"))).select_from(member).scalar_subquery()
    )
    is_nested = or_(_is_of_type(value, "array"), _member(value, MAP_TAG).is_not(None))
    return case((is_nested, func.jsonb_build_object(_type_of(value), inner)), else_=scalar)


def _members(value: Value) -> Value:
    item = func.jsonb_array_elements(value).table_valued(column("value", JSONB), with_ordinality="position")
    item = item.render_derived()
    by_position = (
        select(func.jsonb_object_agg(item.c.position, item.c.value)).select_from(item).scalar_subquery()
    )
    return case((_is_of_type(value, "array"), by_position), else_=_member(value, MAP_TAG))


def _comparable_operand(operand: MetadataValue, nesting: int) -> Any:
    match operand:
        case bool() | str():
            return operand
        case int() | float():
            return _exact(operand)
        case Mapping() if nesting:
            return {
                "object": {key: _comparable_operand(inner, nesting - 1) for key, inner in operand.items()}
            }
        case Sequence() if nesting:
            places = enumerate(operand, 1)
            return {"array": {str(place): _comparable_operand(inner, nesting - 1) for place, inner in places}}
        case _:
            return encode_value(operand)


def _depth_of_numbers(operand: MetadataValue) -> int | None:
    """How many lists and maps stand around its deepest number; None without a number."""
    match operand:
        case bool() | str():
            return None
        case int() | float():
            return 0
        case Mapping():
            inner = map(_depth_of_numbers, operand.values())
        case Sequence():
            inner = map(_depth_of_numbers, operand)
        case _:
            return None
    return max((1 + depth for depth in inner if depth is not None), default=None)


def _text(value: Value) -> Value:
    content = value.op("#>>", return_type=Text())(literal_column("'{}'", ARRAY(Text)))
    return case((_is_of_type(value, "string"), content))


def _number(value: Value) -> Value:
    return case(
        (_is_of_type(value, "number"), cast(value, Numeric)),
        else_=_exact_double(_text_member(value, DOUBLE_TAG)),
    )


def _exact_double(text: Value) -> Value:
    """The number of a stored double, of which PostgreSQL's own cast to numeric keeps 15 digits."""
    double = cast(text, Double)
    is_whole = and_(func.abs(double) >= LEAST_WHOLE, double.between(*WHOLE))
    return case((is_whole, cast(cast(double, BigInteger), Numeric)), else_=cast(text, Numeric))


def _exact(number: int | float) -> int | float:
    """As `_exact_double`: afterwards the shortest text says the number."""
    is_whole = abs(number) >= 2.0**53 and -(2.0**63) <= number < 2.0**63
    return int(number) if is_whole else number


def exact_number(number: Any) -> Decimal:
    return Decimal(repr(_exact(number)))


def _equals(left: Value, right: Any) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = left == right
    return condition


def _is_of_type(value: Value, name: str) -> ColumnElement[bool]:
    return _type_of(value) == literal_column(f"'{name}'")


def _type_of(value: Value) -> Value:
    return func.jsonb_typeof(value, type_=Text)


def _member(value: Value, key: Value) -> Value:
    return value.op("->", return_type=JSONB())(key)


def _text_member(value: Value, key: Value) -> Value:
    return value.op("->>", return_type=Text())(key)
