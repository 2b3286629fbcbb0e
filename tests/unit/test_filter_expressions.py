"""Filters as text: trees printed to the grammar are read back, and what is wrong is said with its place."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_fields import KEYED_FIELDS, MEMORY_FIELDS, TURN_FIELDS, FieldType
from ricordo_server.rpc.convert.filter_expressions import decode_filter_expression
from tests.db.filter_rows import comparisons

OPERATORS = {
    Comparator.EQ: "=",
    Comparator.LT: "<",
    Comparator.LE: "<=",
    Comparator.GT: ">",
    Comparator.GE: ">=",
    Comparator.MATCHES: "=~",
    Comparator.HAS: ":",
    Comparator.CONTAINS: ":",
    Comparator.EXISTS: ":",
}
TEXTS = (FieldType.TEXT, FieldType.LABEL)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def print_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, datetime):
        return f"timestamp({quoted(value.isoformat())})"
    return quoted(value) if isinstance(value, str) else repr(value)


def print_tree(tree: Filter) -> str:
    match tree:
        case AllOf(parts=parts):
            return f"({' AND '.join(map(print_tree, parts))})"
        case AnyOf(parts=parts):
            return f"({' OR '.join(map(print_tree, parts))})"
        case Negated(part=part):
            return f"NOT {print_tree(part)}"
        case Comparison(path=path, comparator=comparator, values=values):
            written = ".".join([path[0], *map(quoted, path[1:])])
            value = print_value(values[0]) if values else "*"
            return f"{written} {OPERATORS[comparator]} {value}"


def can_be_printed(comparison: Comparison) -> bool:
    """The grammar has no lists, maps, IN or PREFIX, and `:` asks texts for a part, other fields for an element."""
    is_text = MEMORY_FIELDS.find(comparison.path) in TEXTS
    return (
        comparison.comparator in OPERATORS
        and not any(isinstance(value, list | dict) for value in comparison.values)
        and (comparison.comparator is not Comparator.CONTAINS or is_text)
    )


def trees() -> st.SearchStrategy[Filter]:
    def grow(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        several = st.lists(parts, min_size=2, max_size=4)
        return st.one_of(parts.map(Negated), several.map(AllOf), several.map(AnyOf))

    return st.recursive(comparisons().filter(can_be_printed), grow, max_leaves=8)


def shape(tree: Filter) -> str:
    """Tells 1 from 1.0 and True, and 0.0 from -0.0; lists and tuples are the same."""
    match tree:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            return f"{type(tree).__name__}{list(map(shape, parts))}"
        case Negated(part=part):
            return f"Negated[{shape(part)}]"
        case Comparison(path=path, comparator=comparator, values=values):
            return f"{path}{comparator}{list(values)!r}"


@settings(max_examples=1_000)
@given(trees())
def test_a_tree_that_is_printed_is_read_back(tree: Filter) -> None:
    read = decode_filter_expression(print_tree(tree), MEMORY_FIELDS)
    assert read
    assert shape(read) == shape(tree)


CAMEL = {"create_time": "createTime", "update_time": "updateTime", "event_time": "eventTime"}
TOPICS = {"managed": ["managed_memory_topic", "managedMemoryTopic"], "custom": ["custom_memory_topic_label"]}
BARE = re.compile(r"(?![\d-])(?!(?:AND|OR|NOT|true|false|null)$)[A-Za-z0-9_-]+")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def spelled(draw: st.DrawFn, tree: Filter) -> str:
    """The tree as users of memory banks write it, each comparison in one of the ways there are."""
    match tree:
        case AllOf(parts=parts):
            return f"({' AND '.join(draw(spelled(part)) for part in parts)})"
        case AnyOf(parts=parts):
            return f"({' OR '.join(draw(spelled(part)) for part in parts)})"
        case Negated(part=Comparison() as part) if part.comparator is Comparator.EQ and draw(st.booleans()):
            return draw(spelled(part)).replace(" = ", " != ", 1)
        case Negated(part=part):
            return draw(st.sampled_from(["NOT ", "-"])) + draw(spelled(part))
        case Comparison(path=path, comparator=comparator, values=values):
            gap = draw(st.sampled_from(["", " "])) if comparator is Comparator.HAS else " "
            value = draw(spelled_value(path, comparator, values[0])) if values else "*"
            return f"{draw(spelled_path(path))}{gap}{OPERATORS[comparator]} {value}"


@st.composite
def spelled_path(draw: st.DrawFn, path: tuple[str, ...]) -> str:
    if path[0] in KEYED_FIELDS:
        return ".".join([path[0], *map(quoted, path[1:])])
    if path[0] == "topics":
        return ".".join([path[0], *(draw(st.sampled_from([part, *TOPICS[part]])) for part in path[1:])])
    return draw(st.sampled_from([path[0], CAMEL.get(path[0], path[0])]))


@st.composite
def spelled_value(draw: st.DrawFn, path: tuple[str, ...], comparator: Comparator, value: Any) -> str:
    ways = [print_value(value)]
    if isinstance(value, datetime) and MEMORY_FIELDS.find(path) is FieldType.TIME:
        microseconds = (value - EPOCH) // timedelta(microseconds=1)
        ways += [
            quoted(value.isoformat()),
            quoted(value.isoformat().replace("+00:00", "Z")),
            str(microseconds),
        ]
    if (
        isinstance(value, str)
        and comparator in (Comparator.HAS, Comparator.CONTAINS)
        and BARE.fullmatch(value)
    ):
        ways.append(value)
    return draw(st.sampled_from(ways))


@settings(max_examples=1_000)
@given(st.data())
def test_however_a_tree_is_spelled_it_is_read_back(data: st.DataObject) -> None:
    tree = data.draw(trees())
    text = data.draw(spelled(tree))
    read = decode_filter_expression(text, MEMORY_FIELDS)
    assert read
    assert shape(read) == shape(tree)


def comparison(path: str, comparator: Comparator, *values: Any) -> Comparison:
    return Comparison(tuple(path.split(".")), comparator, values)


A, B, C = (comparison(f"metadata.{name}", Comparator.EQ, 1) for name in "abc")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("metadata.a = 1 AND metadata.b = 1 OR metadata.c = 1", AllOf((A, AnyOf((B, C))))),
        ("metadata.a=1 OR metadata.b=1 AND metadata.c=1", AllOf((AnyOf((A, B)), C))),
        ("(metadata.a=1 AND metadata.b=1) OR metadata.c=1", AnyOf((AllOf((A, B)), C))),
        ("NOT metadata.a=1 AND metadata.b=1", AllOf((Negated(A), B))),
        ("-metadata.a=1", Negated(A)),
        ("metadata.a != 1", Negated(A)),
        ("metadata.a:*", comparison("metadata.a", Comparator.EXISTS)),
        ('fact=~"(?i)tea\\.\\d+"', comparison("fact", Comparator.MATCHES, r"(?i)tea\.\d+")),
        ('fact = "a \\"b\\" \\\\"', comparison("fact", Comparator.EQ, 'a "b" \\')),
        ('content: "tea"', comparison("content", Comparator.CONTAINS, "tea")),
        ('tags: "tea"', comparison("tags", Comparator.HAS, "tea")),
        ("metadata.AND=true", comparison("metadata.AND", Comparator.EQ, True)),
        ('metadata.due < timestamp("2026-01-31T13:00+01:00")', comparison("metadata.due", Comparator.LT, NOON)),
        ('createTime >= "2026-01-31T12:00:00Z"', comparison("create_time", Comparator.GE, NOON)),
        ('create_time >= "2026-01-31T12:00:00"', comparison("create_time", Comparator.GE, NOON)),
        ("update_time < 1769860800000000", comparison("update_time", Comparator.LT, NOON)),
        ("topics.managed_memory_topic: USER_X", comparison("topics.managed", Comparator.HAS, "USER_X")),
        ("topics.customMemoryTopicLabel: 2026-goals", comparison("topics.custom", Comparator.HAS, "2026-goals")),
        ("kind = SEMANTIC", comparison("kind", Comparator.EQ, "SEMANTIC")),
    ],
)  # fmt: skip
def test_what_an_expression_means(text: str, tree: Filter) -> None:
    assert decode_filter_expression(text, MEMORY_FIELDS) == tree


@pytest.mark.parametrize(
    ("text", "position", "accepted"),
    [
        (" ", 1, "a word"),
        ("metadata.a", 10, "one of = !="),
        ("metadata.a =", 12, "text in double quotes"),
        ("metadata.a = 'x'", 13, "text in double quotes"),
        ('metadata.a = "x', 13, "text in double quotes"),
        ("(metadata.a = 1", 15, ")"),
        ("metadata.a = 1)", 14, "the end"),
        ("metadata.a = 1 metadata.b = 2", 15, "AND, OR"),
        ("metadata.a = 1 & metadata.b = 2", 15, "AND, OR"),
        ("metadata.a = 1 AND", 18, "NOT"),
        ("metadata.a = 1 AND colour = 2", 19, "metadata.<key>"),
        ("metadata.a = 1 AND role = user", 19, "metadata.<key>"),
        ("metadata.a = red", 0, '"red" in double quotes'),
        ('metadata.a = date("2026")', 0, "timestamp"),
        ('create_time > "yesterday"', 0, "ISO 8601"),
        ("create_time > 99999999999999999999", 0, "microseconds since 1970"),
        ("create_time > true", 0, "time"),
        ("metadata.a = *", 0, ":"),
        ("kind = FACT", 0, "SEMANTIC"),
        ("tags = x", 0, "x"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, position: int, accepted: str) -> None:
    with pytest.raises(DomainError) as caught:
        decode_filter_expression(text, MEMORY_FIELDS)
    error = caught.value
    assert (error.reason, error.field) == (Reason.INVALID_FILTER, "filter_expression")
    assert error.metadata
    assert error.metadata["position"] == str(position)
    assert accepted in error.metadata["accepted"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("metadata.a=" + "9" * 30, Reason.INVALID_FIELD),
        ("metadata.a=1e999", Reason.INVALID_FIELD),
        ("metadata.a=" + "9" * 5_000, Reason.INVALID_FILTER),
        ('metadata.a="\0"', Reason.INVALID_FIELD),
        ("NOT " * 2_000 + "metadata.a=1", Reason.LIMIT_EXCEEDED),
        (" OR ".join(["metadata.a=1"] * 65), Reason.LIMIT_EXCEEDED),
        ("metadata.a=1" + " " * 9_000, Reason.LIMIT_EXCEEDED),
        ("(" * 8_000, Reason.INVALID_FILTER),
    ],
)
def test_what_is_too_large_is_refused(text: str, reason: Reason) -> None:
    with pytest.raises(DomainError) as caught:
        decode_filter_expression(text, MEMORY_FIELDS)
    assert caught.value.reason is reason


def reason_of(text: str) -> Reason | None:
    try:
        decode_filter_expression(text, TURN_FIELDS)
    except DomainError as error:
        return error.reason
    return None


@given(st.text(alphabet='amet.=<>~:!"\\()*- 19ANDORNT\n\0é', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert reason_of(text) in (None, Reason.INVALID_FILTER, Reason.INVALID_FIELD)
