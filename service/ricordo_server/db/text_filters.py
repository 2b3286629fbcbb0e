"""Conditions on a text, the same for columns, labels and metadata."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Text, and_, any_, collate, func, literal, literal_column

from ricordo_server.domain.filter import Comparator

ORDERS: Mapping[Comparator, Callable[[Any, Any], ColumnElement[bool]]] = {
    Comparator.LT: operator.lt,
    Comparator.LE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GE: operator.ge,
}

# Options such as (?i) count at the start of a regular expression only. Those that change its dialect (b, e, q, x)
# would change what is put around it: they stay where they are, which is an error.
LEADING_OPTIONS = re.compile(r"\(\?[cimnpstw]+\)")
LAST_CODE_POINT, SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


def compare_text(
    text: ColumnElement[Any], comparator: Comparator, operands: Sequence[Any]
) -> ColumnElement[bool]:
    """NULL where `text` is. The empty text is what a column holds that was not given: it does not exist."""
    if comparator is Comparator.EXISTS:
        return text != literal_column("''")
    if comparator is Comparator.IN:
        return text == any_(literal(list(operands), ARRAY(Text)))
    [operand] = operands
    match comparator:
        case Comparator.EQ:
            return text == literal(operand, Text)
        case Comparator.MATCHES:
            return _matches(text, operand)
        case Comparator.CONTAINS:
            return func.strpos(text, literal(operand, Text)) > 0
        case Comparator.PREFIX:
            return starts_with(text, operand)
        case _:
            return ORDERS[comparator](collate(text, "C"), literal(operand, Text))


def _matches(text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
    """The pattern is also tried alone: of `a)|(?:b` only the surroundings would make a valid one.

    That trial is of constants, so the planner makes it: a wrong pattern is an error on an empty table too.
    """
    options = LEADING_OPTIONS.match(pattern)
    start = options.end() if options else 0
    whole = rf"{pattern[:start]}\A(?:{pattern[start:]})\Z"
    trial = literal_column("''", Text).regexp_match(literal(pattern, Text))
    return and_(trial.is_not(None), text.regexp_match(literal(whole, Text)))


def starts_with(text: ColumnElement[Any], prefix: str) -> ColumnElement[bool]:
    """A range, since an index serves it, under row-level security too."""
    text, end = collate(text, "C"), _end_of_prefix(prefix)
    begins = text >= literal(prefix, Text)
    return begins if end is None else and_(begins, text < literal(end, Text))


def _end_of_prefix(prefix: str) -> str | None:
    """The least text that is greater than all that start with the prefix, by code point."""
    kept = prefix.rstrip(chr(LAST_CODE_POINT))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(SURROGATES.stop if following in SURROGATES else following)
