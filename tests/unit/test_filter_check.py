"""Which filters are refused, why, and where the refusal points."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from ricordo.v1 import filter_pb2 as pb
from ricordo.v1 import metadata_pb2
from ricordo_server.domain import limits
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_check import check_filter
from ricordo_server.domain.filter_fields import MEMORY_FIELDS, SESSION_FIELDS, TURN_FIELDS, FilterFields
from ricordo_server.rpc.convert.filters import decode_filter
from ricordo_server.rpc.convert.metadata import encode_value

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
FIELDS = {"memory": MEMORY_FIELDS, "turn": TURN_FIELDS, "session": SESSION_FIELDS}


def compare(path: str, comparator: str, *values: Any) -> Comparison:
    return Comparison(tuple(path.split(".")), Comparator[comparator], values)


def refusal(tree: Filter, fields: FilterFields = MEMORY_FIELDS) -> DomainError:
    with pytest.raises(DomainError) as caught:
        check_filter(tree, fields)
    return caught.value


def nested(depth: int) -> Filter:
    tree: Filter = compare("content", "EXISTS")
    for _ in range(depth - 1):
        tree = Negated(tree)
    return tree


@pytest.mark.parametrize(
    ("rows", "tree"),
    [
        ("memory", compare("content", "MATCHES", "x" * limits.MAX_PATTERN_CHARACTERS)),
        ("memory", compare("fact", "CONTAINS", "x")),
        ("memory", compare("title", "LT", "m")),
        ("memory", compare("key", "PREFIX", "/docs/")),
        ("memory", compare("kind", "IN", "SEMANTIC", "EPISODIC")),
        ("memory", compare("source", "EQ", "EXTRACTION")),
        ("memory", compare("topics", "HAS", "USER_PREFERENCES")),
        ("memory", compare("topics.managed", "HAS", "USER_PREFERENCES")),
        ("memory", compare("topics.custom", "EXISTS")),
        ("memory", compare("tags", "HAS", "x")),
        ("memory", compare("event_time", "GE", NOON)),
        ("memory", compare("metadata.tier", "EQ", None)),
        ("memory", compare("metadata.tier", "EQ", {"a": [1, "x", None]})),
        ("memory", compare("metadata.tier", "IN", *range(limits.MAX_IN_VALUES))),
        ("memory", compare("metadata.tier", "LT", 2.5)),
        ("memory", compare("metadata.a.b.c.d.e.f.g.h", "HAS", True)),
        ("memory", Comparison(("metadata", ""), Comparator.EXISTS)),
        ("memory", compare("labels.team", "EQ", "red")),
        ("turn", compare("turn_seq", "GT", 10)),
        ("turn", compare("tool_name", "EXISTS")),
        ("session", compare("session_id", "PREFIX", "a")),
        ("session", compare("last_activity_time", "LT", NOON)),
        ("memory", nested(limits.MAX_FILTER_DEPTH)),
        ("memory", AnyOf([compare("content", "EXISTS")] * limits.MAX_FILTER_COMPARISONS)),
    ],
    ids=str,
)
def test_sound_filters_pass(rows: str, tree: Filter) -> None:
    check_filter(tree, FIELDS[rows])


@pytest.mark.parametrize(
    ("rows", "path"),
    [
        ("memory", ("tier",)),
        ("memory", ()),
        ("memory", ("metadata",)),
        ("memory", ("metadata.tier",)),
        ("memory", ("labels",)),
        ("memory", ("labels", "a", "b")),
        ("memory", ("topics.managed",)),
        ("memory", ("topics", "other")),
        ("memory", ("content", "x")),
        ("memory", ("user_id",)),
        ("memory", ("visibility",)),
        ("memory", ("turn_seq",)),
        ("turn", ("fact",)),
        ("turn", ("topics",)),
        ("session", ("content",)),
    ],
    ids=str,
)
def test_an_unknown_path_is_refused_with_those_accepted(rows: str, path: tuple[str, ...]) -> None:
    error = refusal(Comparison(path, Comparator.EXISTS), FIELDS[rows])

    assert (error.reason, error.field) == (Reason.INVALID_FILTER, "filter.comparison.path")
    assert "metadata.<key>, labels.<key>" in error.message
    assert error.metadata == {"accepted": FIELDS[rows].accepted}


@pytest.mark.parametrize(
    "tree",
    [
        compare("content", "HAS", "x"),
        compare("kind", "PREFIX", "SEM"),
        compare("kind", "LT", "SEMANTIC"),
        compare("create_time", "CONTAINS", "2026"),
        compare("topics", "EQ", "x"),
        compare("tags", "IN", "x"),
        compare("topics.custom", "PREFIX", "x"),
    ],
    ids=str,
)
def test_a_comparator_that_the_field_lacks_is_refused(tree: Filter) -> None:
    error = refusal(tree)

    assert (error.reason, error.field) == (Reason.INVALID_FILTER, "filter.comparison.comparator")
    assert "EXISTS" in error.message


@pytest.mark.parametrize(
    ("tree", "accepted"),
    [
        (compare("content", "EQ", 1), "text"),
        (compare("content", "EQ", None), "text"),
        (compare("content", "EQ", NOON), "text"),
        (compare("create_time", "LT", "2026-01-31"), "time"),
        (compare("create_time", "EQ", 0), "time"),
        (compare("labels.team", "EQ", True), "text"),
        (compare("tags", "HAS", 1), "text"),
        (compare("metadata.tier", "LT", True), "number, text, time"),
        (compare("metadata.tier", "LT", None), "number, text, time"),
        (compare("metadata.tier", "GE", [1]), "number, text, time"),
        (compare("metadata.tier", "MATCHES", 1), "text"),
        (compare("metadata.tier", "CONTAINS", ["x"]), "text"),
        (compare("metadata.tier", "IN", None), "bool, list, map, number, text, time"),
        (compare("metadata.tier", "HAS", None), "bool, list, map, number, text, time"),
        (
            compare("kind", "EQ", "semantic"),
            "CUSTOM, DOCUMENT, EPISODIC, PROCEDURAL, PROFILE, SEMANTIC, TAXONOMIC",
        ),
        (compare("source", "EQ", "SEMANTIC"), "AGENT, EXTRACTION, IMPORT, USER"),
    ],
    ids=str,
)
def test_an_operand_of_another_type_is_refused(tree: Filter, accepted: str) -> None:
    error = refusal(tree)

    assert (error.reason, error.field) == (Reason.INVALID_FILTER, "filter.comparison.values[0]")
    assert error.metadata == {"accepted": accepted}


def test_a_number_field_takes_no_bool() -> None:
    assert refusal(compare("turn_seq", "EQ", True), TURN_FIELDS).reason is Reason.INVALID_FILTER


@pytest.mark.parametrize(
    "tree",
    [
        compare("content", "EQ"),
        compare("content", "EQ", "a", "b"),
        compare("content", "EXISTS", "a"),
        compare("content", "IN"),
        compare("tags", "HAS", "a", "b"),
    ],
    ids=str,
)
def test_a_wrong_number_of_operands_is_refused(tree: Filter) -> None:
    error = refusal(tree)

    assert (error.reason, error.field) == (Reason.INVALID_FILTER, "filter.comparison.values")


@pytest.mark.parametrize(
    ("tree", "limit", "actual"),
    [
        (nested(limits.MAX_FILTER_DEPTH + 1), limits.MAX_FILTER_DEPTH, limits.MAX_FILTER_DEPTH + 1),
        (AllOf([compare("content", "EXISTS")] * 65), 64, 65),
        (AllOf([AnyOf([compare("content", "EXISTS")] * 33)] * 2), 64, 66),
        (compare("content", "IN", *["x"] * 101), 100, 101),
        (compare("content", "MATCHES", "x" * 257), 256, 257),
        (compare("metadata.a.b.c.d.e.f.g.h.i", "EXISTS"), 9, 10),
    ],
    ids=["depth", "comparisons", "comparisons in two lists", "values", "pattern", "path"],
)
def test_more_than_a_limit_is_refused(tree: Filter, limit: int, actual: int) -> None:
    error = refusal(tree)

    assert error.reason is Reason.LIMIT_EXCEEDED
    assert error.metadata == {"limit": str(limit), "actual": str(actual)}


@pytest.mark.parametrize(
    "tree",
    [
        compare("content", "EQ", "a\0"),
        Comparison(("metadata", "a\0"), Comparator.EXISTS),
        compare("metadata.tier", "EQ", math.nan),
        compare("metadata.tier", "LT", math.inf),
        compare("metadata.tier", "EQ", 2**63),
    ],
    ids=str,
)
def test_what_no_row_can_hold_is_refused(tree: Filter) -> None:
    assert refusal(tree).reason is Reason.INVALID_FIELD


@pytest.mark.parametrize("empty", [AllOf([]), AnyOf([])], ids=str)
def test_an_empty_list_is_refused_at_its_place(empty: Filter) -> None:
    error = refusal(AllOf([compare("content", "EXISTS"), Negated(empty)]))

    kind = "all_of" if isinstance(empty, AllOf) else "any_of"
    assert (error.reason, error.field) == (Reason.INVALID_FILTER, f"filter.all_of.filters[1].negated.{kind}")


def message(path: tuple[str, ...], comparator: int, *values: Any) -> pb.Filter:
    return pb.Filter(
        comparison=pb.Comparison(
            path=pb.FieldPath(segments=path),
            comparator=comparator,  # type: ignore[arg-type]
            values=[encode_value(value) for value in values],
        )
    )


def decode_refusal(given: pb.Filter) -> DomainError:
    with pytest.raises(DomainError) as caught:
        decode_filter(given, MEMORY_FIELDS)
    return caught.value


def test_a_message_becomes_its_tree() -> None:
    old = message(("metadata", "a.b"), pb.COMPARATOR_LT, 2.0)
    named = message(("content",), pb.COMPARATOR_IN, "x", "y")
    given = pb.Filter(
        all_of=pb.FilterList(
            filters=[old, pb.Filter(negated=pb.Filter(any_of=pb.FilterList(filters=[named])))]
        )
    )

    assert decode_filter(given, MEMORY_FIELDS) == AllOf(
        (
            Comparison(("metadata", "a.b"), Comparator.LT, (2.0,)),
            Negated(AnyOf((Comparison(("content",), Comparator.IN, ("x", "y")),))),
        )
    )


def test_no_message_is_no_filter() -> None:
    assert decode_filter(None, MEMORY_FIELDS) is None


def test_an_empty_message_is_refused_not_taken_for_every_row() -> None:
    error = decode_refusal(pb.Filter())

    assert (error.reason, error.field) == (Reason.INVALID_FILTER, "filter")


@pytest.mark.parametrize("number", [0, 99, -1])
def test_an_unknown_comparator_is_refused(number: int) -> None:
    error = decode_refusal(message(("content",), number, "x"))

    assert (error.reason, error.field) == (Reason.INVALID_FILTER, "filter.comparison.comparator")


def test_a_value_that_is_not_set_is_refused_at_its_place() -> None:
    given = message(("content",), pb.COMPARATOR_IN, "x")
    given.comparison.values.append(metadata_pb2.MetadataValue())

    error = decode_refusal(pb.Filter(any_of=pb.FilterList(filters=[given])))
    assert (error.reason, error.field) == (
        Reason.INVALID_FIELD,
        "filter.any_of.filters[0].comparison.values[1]",
    )


def test_a_deep_message_is_refused_before_it_is_walked() -> None:
    given = pb.Filter()
    deepest = given
    for _ in range(5_000):
        deepest = deepest.negated
        deepest.SetInParent()

    error = decode_refusal(given)
    assert (error.reason, error.metadata) == (Reason.LIMIT_EXCEEDED, {"limit": "8", "actual": "9"})


def test_a_wide_message_is_refused_before_it_is_walked() -> None:
    part = pb.Filter(any_of=pb.FilterList(filters=[pb.Filter()] * 60))
    given = pb.Filter(any_of=pb.FilterList(filters=[part] * 60))

    assert decode_refusal(given).reason is Reason.LIMIT_EXCEEDED


def test_the_comparators_of_contract_and_domain_are_the_same() -> None:
    names = {name.removeprefix("COMPARATOR_") for name, _ in pb.Comparator.items()}

    assert names == {*Comparator.__members__, "UNSPECIFIED"}
