"""Filters written as text, to the same trees as those of messages: `filter.proto` explains the grammar."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive

from ricordo_server.domain import limits
from ricordo_server.domain.errors import DomainError, Reason, over_limit
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_check import check_filter, check_size, parts_of
from ricordo_server.domain.filter_fields import KEYED_FIELDS, FieldType, FilterFields
from ricordo_server.domain.metadata import MetadataValue

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# How an error names what was expected; the other terminals are spelled as they are written.
EXPECTED = {
    "WORD": "a word",
    "STRING": "text in double quotes",
    "NUMBER": "a number",
    "OPERATOR": "one of = != < <= > >= =~ :",
    "MINUS": "-",
    "LPAR": "(",
    "RPAR": ")",
    "DOT": ".",
    "STAR": "*",
    "TRUE": "true",
    "FALSE": "false",
    "NULL": "null",
    "$END": "the end",
}

COMPARATORS = {
    "=": Comparator.EQ,
    "!=": Comparator.EQ,
    "<": Comparator.LT,
    "<=": Comparator.LE,
    ">": Comparator.GT,
    ">=": Comparator.GE,
    "=~": Comparator.MATCHES,
}
HAS = ":"
# Where `:` asks for a part of the text; elsewhere for an element of the list.
TEXTS = frozenset({FieldType.TEXT, FieldType.LABEL})
NAMES = frozenset({FieldType.KIND, FieldType.SOURCE})

# Segments as memory banks write them.
SYNONYMS = {"managed_memory_topic": "managed", "custom_memory_topic_label": "custom"}


def decode_filter_expression(
    text: str, fields: FilterFields, field: str = "filter_expression"
) -> Filter | None:
    """The tree of an expression; None for an empty one.

    Raises:
        DomainError: INVALID_FILTER with `position` and what was expected there; LIMIT_EXCEEDED.
    """
    if not text:
        return None
    size = len(text.encode())
    if size > limits.MAX_QUERY_BYTES:
        raise over_limit(field, "bytes", limits.MAX_QUERY_BYTES, size)
    try:
        tree: Filter = FilterBuilder(fields, field).transform(_parser().parse(text))
    except UnexpectedInput as error:
        raise _unexpected(error, text, field) from error
    except VisitError as error:
        raise error.orig_exc from error
    check_size(tree, parts_of, field)
    return tree


@cache
def _parser() -> Lark:
    grammar = resources.files(__package__).joinpath("filter_expression.lark").read_text()
    return Lark(grammar, parser="lalr")


def _unexpected(error: UnexpectedInput, text: str, field: str) -> DomainError:
    names: set[str] = set()
    position = len(text)
    if isinstance(error, UnexpectedCharacters):
        names, position = set(error.allowed or ()), int(error.pos_in_stream or 0)
    elif isinstance(error, UnexpectedToken):
        names = set(error.accepts or error.expected)
        position = position if error.token.type == "$END" else _position(error.token)
    found = repr(text[position : position + 20]) if position < len(text) else "the end"
    accepted = ", ".join(sorted(EXPECTED.get(name, name) for name in names))
    return _refusal(f"found {found}", accepted, position, field)


def _refusal(message: str, accepted: str, position: int, field: str) -> DomainError:
    return DomainError(
        Reason.INVALID_FILTER,
        f"at character {position}: {message}; accepted: {accepted}",
        field,
        {"position": str(position), "accepted": accepted},
    )


def _position(token: Token) -> int:
    return int(token.start_pos or 0)


@dataclass(frozen=True)
class Word:
    """A value without quotes."""

    text: str


@dataclass(frozen=True)
class Call:
    name: str
    argument: str


class Anything:
    """The value `*`."""


# Not recursive: the form is bounded by its bytes alone, and `NOT NOT NOT ...` goes deep.
class FilterBuilder(Transformer_NonRecursive[Token, Any]):
    """A method for each rule of the grammar, called with what its parts became."""

    def __init__(self, fields: FilterFields, field: str) -> None:
        super().__init__()
        self._fields = fields
        self._field = field

    def start(self, parts: Sequence[Filter]) -> Filter:
        return parts[0]

    def all_of(self, parts: Sequence[Filter]) -> Filter:
        return AllOf(tuple(parts))

    def any_of(self, parts: Sequence[Filter]) -> Filter:
        return AnyOf(tuple(parts))

    def negated(self, parts: Sequence[Filter]) -> Filter:
        return Negated(parts[0])

    def restriction(self, parts: Sequence[Any]) -> Filter:
        (path, position), operator, value = parts
        try:
            comparison = _compare(path, str(operator), value, self._fields)
            check_filter(comparison, self._fields, self._field)
        except DomainError as error:
            raise _placed(error, position, self._field) from error
        return Negated(comparison) if operator == "!=" else comparison

    def path(self, segments: Sequence[Token]) -> tuple[tuple[str, ...], int]:
        return _spelled(tuple(map(_unquoted, segments))), _position(segments[0])

    def segment(self, tokens: Sequence[Token]) -> Token:
        return tokens[0]

    def text(self, tokens: Sequence[Token]) -> str:
        return _unquoted(tokens[0])

    def number(self, tokens: Sequence[Token]) -> int | float:
        return int(tokens[0]) if tokens[0].lstrip("-").isdigit() else float(tokens[0])

    def true(self, tokens: Sequence[Token]) -> bool:
        return True

    def false(self, tokens: Sequence[Token]) -> bool:
        return False

    def null(self, tokens: Sequence[Token]) -> None:
        return None

    def anything(self, tokens: Sequence[Token]) -> Anything:
        return Anything()

    def word(self, tokens: Sequence[Token]) -> Word:
        return Word(str(tokens[0]))

    def call(self, tokens: Sequence[Token]) -> Call:
        return Call(str(tokens[0]), _unquoted(tokens[1]))


def _placed(error: DomainError, position: int, field: str) -> DomainError:
    metadata = {**(error.metadata or {}), "position": str(position)}
    return DomainError(error.reason, f"at character {position}: {error.message}", field, metadata)


def _unquoted(token: Token) -> str:
    """Only `\\"` and `\\\\` are escapes: a regular expression is full of others, and they are its own."""
    return re.sub(r'\\(["\\])', r"\1", token[1:-1]) if token.type == "STRING" else str(token)


def _spelled(path: tuple[str, ...]) -> tuple[str, ...]:
    """createTime as create_time; what follows `metadata` or `labels` is the caller's own."""
    if path[0] in KEYED_FIELDS:
        return path
    snake = (re.sub(r"(?<=[a-z0-9])[A-Z]", lambda capital: f"_{capital[0]}", part).lower() for part in path)
    return tuple(SYNONYMS.get(part, part) for part in snake)


def _compare(path: tuple[str, ...], operator: str, value: Any, fields: FilterFields) -> Comparison:
    kind = fields.find(path)
    if isinstance(value, Anything):
        if operator != HAS:
            raise _unfit("* stands after : only", ":")
        return Comparison(path, Comparator.EXISTS)
    contained = Comparator.CONTAINS if kind in TEXTS else Comparator.HAS
    comparator = COMPARATORS.get(operator, contained)
    return Comparison(path, comparator, (_read_value(value, kind, quoted=operator != HAS),))


def _read_value(value: Any, kind: FieldType | None, *, quoted: bool) -> MetadataValue:
    match value:
        case Call(name="timestamp", argument=argument):
            return _read_time(argument)
        case Call(name=name):
            raise _unfit(f"there is no function {name:.64}", "timestamp")
        case Word(text=text) if quoted and kind and kind not in NAMES:
            raise _unfit(f"the word {text:.64} is no value", f'"{text:.64}" in double quotes')
        case Word(text=text):
            return text
        case str() | int() if kind is FieldType.TIME and not isinstance(value, bool):
            return _read_time(value)
    read: MetadataValue = value
    return read


def _read_time(given: str | int) -> datetime:
    """ISO 8601, UTC where it names no zone; or microseconds since 1970."""
    try:
        if isinstance(given, int):
            return EPOCH + timedelta(microseconds=given)
        time = datetime.fromisoformat(given)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        accepted = 'an ISO 8601 time such as "2026-01-31T12:00:00Z", or microseconds since 1970'
        raise _unfit(f"{given!r:.64} is no time", accepted) from error


def _unfit(message: str, accepted: str) -> DomainError:
    return DomainError(
        Reason.INVALID_FILTER, f"{message}; accepted: {accepted}", metadata={"accepted": accepted}
    )
