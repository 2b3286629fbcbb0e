from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import filters
from ricordo._convert.filters import encode_condition
from ricordo.errors import MemoryClientError
from ricordo.filters import MEMORY_FIELDS, TURN_FIELDS, all_of, any_of, field, parse
from ricordo.models import ManagedTopic, MemoryKind
from ricordo.models.filter import AllOf, AnyOf, Comparison, Expression, Filter, Negated
from ricordo.v1 import filter_pb2

colour = field("metadata", "colour")
size = field("metadata", "size")


@pytest.mark.parametrize(
    ("document", "built"),
    [
        ({"metadata.colour": "red"}, colour.eq("red")),
        ({"metadata.colour": {"$eq": "red"}}, colour.eq("red")),
        ({"metadata.colour": {"$ne": "red"}}, ~colour.eq("red")),
        ({"metadata.colour": {"$in": ["red", "blue"]}}, colour.is_in(["red", "blue"])),
        ({"metadata.colour": {"$nin": ["red"]}}, ~colour.is_in(["red"])),
        ({"metadata.colour": {"$exists": True}}, colour.exists()),
        ({"metadata.colour": {"$exists": False}}, ~colour.exists()),
        ({"metadata.colour": None}, ~colour.exists()),
        ({"metadata.colour": {"$ne": None}}, colour.exists()),
        ({"metadata.colour": {"$in": ["red", None]}}, colour.is_in(["red"]) | ~colour.exists()),
        ({"metadata.colour": {"$in": [None]}}, ~colour.exists()),
        ({"metadata.size": {"$gt": 1, "$lte": 5}}, size.gt(1) & size.le(5)),
        ({"metadata.size": {"$gte": 1, "$lt": 5}}, size.ge(1) & size.lt(5)),
        ({"metadata.size": {"$not": {"$gt": 1}}}, ~size.gt(1)),
        ({"metadata.colour": "red", "metadata.size": 2}, colour.eq("red") & size.eq(2)),
        ({"$and": [{"metadata.size": 1}, {"metadata.colour": "red"}]}, size.eq(1) & colour.eq("red")),
        ({"$or": [{"metadata.size": 1}, {"metadata.size": 2}]}, size.eq(1) | size.eq(2)),
        ({"$nor": [{"metadata.size": 1}, {"metadata.size": 2}]}, ~(size.eq(1) | size.eq(2))),
        ({"metadata.map": {"a": 1}}, field("metadata", "map").eq({"a": 1})),
        ({"metadata.list": [1, 2]}, field("metadata", "list").eq([1, 2])),
        ({("metadata", "a.b"): 1}, field("metadata", "a.b").eq(1)),
        ({"metadata.a.b": 1}, field("metadata", "a", "b").eq(1)),
        ({"content": {"$contains": "tea"}}, field("content").contains("tea")),
        ({"key": {"$prefix": "/notes/"}}, field("key").prefix("/notes/")),
        ({"title": {"$matches": "T.*"}}, field("title").matches("T.*")),
        ({"tags": {"$has": "rome"}}, field("tags").has("rome")),
        ({"topics.custom": {"$has": "travel"}}, field("topics", "custom").has("travel")),
        ({"labels.team": "red"}, field("labels", "team").eq("red")),
    ],
)
def test_a_dict_and_the_builder_give_the_same_tree(document: dict[Any, Any], built: Filter) -> None:
    assert parse(document, MEMORY_FIELDS) == built


@pytest.mark.parametrize("nothing", [None, {}, "", " "])
def test_no_condition_is_no_filter(nothing: dict[str, Any] | str | None) -> None:
    assert parse(nothing, MEMORY_FIELDS) is None


@pytest.mark.parametrize(
    "path", ["colour", "metadata", "labels", "content.x", "labels.a.b", "metadata.", "", "org_id"]
)
def test_another_field_is_refused_with_the_accepted_ones(path: str) -> None:
    with pytest.raises(MemoryClientError, match=r"accepted: agent_id, content.*labels.<key>, metadata.<key>"):
        parse({"$or": [{"$nor": [{path: 1}]}]}, MEMORY_FIELDS)


def test_the_builder_is_checked_too() -> None:
    with pytest.raises(MemoryClientError, match="accepted"):
        parse(field("colour").eq(1), MEMORY_FIELDS)


def test_each_resource_has_fields_of_its_own() -> None:
    assert parse({"role": "user"}, TURN_FIELDS)
    with pytest.raises(MemoryClientError, match="'role'"):
        parse({"role": "user"}, MEMORY_FIELDS)


@pytest.mark.parametrize(
    "document",
    [
        {"metadata.x": {"$regex": "a"}},
        {"metadata.x": {"$gt": 1, "plain": 2}},
        {"metadata.x": {"$in": []}},
        {"metadata.x": {"$in": "text"}},
        {"metadata.x": {"$exists": 1}},
        {"$xor": [{"metadata.x": 1}]},
        {"$and": []},
        {"$and": {"metadata.x": 1}},
        {"$or": [{}]},
        {"$or": ["x"]},
    ],
)
def test_a_malformed_filter_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(MemoryClientError):
        parse(document, MEMORY_FIELDS)


def test_a_tree_on_the_wire() -> None:
    condition = {"metadata.a": {"$gt": 1.0}, "$nor": [{"tags": {"$has": "x"}}]}
    wire = encode_condition(condition, MEMORY_FIELDS)["filter"]
    comparison, negated = wire.all_of.filters
    assert comparison.comparison.path.segments == ["metadata", "a"]
    assert comparison.comparison.comparator == filter_pb2.COMPARATOR_GT
    assert comparison.comparison.values[0].double_value == 1.0
    assert negated.negated.comparison.values[0].string_value == "x"


@pytest.mark.parametrize(
    ("condition", "sent"),
    [
        (field("kind").eq("semantic"), "SEMANTIC"),
        (field("kind").is_in([MemoryKind.EPISODIC]), "EPISODIC"),
        (field("source").eq("user"), "USER"),
        (field("topics", "managed").has("user_preferences"), "USER_PREFERENCES"),
        (field("topics").has(ManagedTopic.USER_PREFERENCES), "USER_PREFERENCES"),
        (field("topics").has("user_preferences"), "user_preferences"),
        (field("metadata", "kind").eq("semantic"), "semantic"),
    ],
)
def test_words_of_the_contract_are_sent_as_it_writes_them(condition: Filter, sent: str) -> None:
    wire = encode_condition(condition, MEMORY_FIELDS)["filter"]
    assert wire.comparison.values[0].string_value == sent


def test_an_expression_travels_as_it_is() -> None:
    assert encode_condition('fact = "x"', MEMORY_FIELDS) == {"filter_expression": 'fact = "x"'}


def test_an_expression_and_a_tree_travel_side_by_side() -> None:
    both = all_of(Expression(text="metadata.a = 1"), colour.eq("red"), Expression(text="metadata.b = 2"))
    condition = encode_condition(both, MEMORY_FIELDS)
    assert condition["filter_expression"] == "(metadata.a = 1) AND (metadata.b = 2)"
    assert condition["filter"].comparison.values[0].string_value == "red"


def test_an_expression_inside_a_tree_is_refused() -> None:
    with pytest.raises(MemoryClientError, match="joined by &"):
        encode_condition(~Expression(text="metadata.a = 1"), MEMORY_FIELDS)


@pytest.mark.parametrize("value", [float("nan"), 2**64, object()])
def test_a_value_that_cannot_be_compared_is_refused(value: object) -> None:
    with pytest.raises(MemoryClientError, match=r"metadata\.x"):
        encode_condition({"metadata.x": {"$gt": value}}, MEMORY_FIELDS)


leaves = st.builds(
    lambda key, value: {f"metadata.{key}": {"$gt": value}},
    st.text("ab", min_size=1, max_size=2),
    st.integers(-9, 9),
)
documents = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda join, parts: {join: parts},
        st.sampled_from(["$and", "$or", "$nor"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


def holds_in_python(document: dict[str, Any], row: dict[str, int]) -> bool:
    ((name, value),) = document.items()
    match name:
        case "$and":
            return all(holds_in_python(part, row) for part in value)
        case "$or":
            return any(holds_in_python(part, row) for part in value)
        case "$nor":
            return not any(holds_in_python(part, row) for part in value)
    found = row.get(name.removeprefix("metadata."))
    return found is not None and found > value["$gt"]


def holds(node: Filter, row: dict[str, int]) -> bool:
    match node:
        case AllOf(parts=parts):
            return all(holds(part, row) for part in parts)
        case AnyOf(parts=parts):
            return any(holds(part, row) for part in parts)
        case Negated(part=part):
            return not holds(part, row)
        case Comparison(path=path, values=values):
            found = row.get(path[1])
            return found is not None and found > values[0]
    raise AssertionError(node)


@given(documents, st.dictionaries(st.sampled_from(["a", "b", "aa", "ab"]), st.integers(-9, 9)))
def test_a_tree_means_what_its_dict_means(document: dict[str, Any], row: dict[str, int]) -> None:
    tree = parse(document, MEMORY_FIELDS)
    assert tree is not None
    assert holds(tree, row) == holds_in_python(document, row)


def test_joins_stay_flat() -> None:
    parts = [colour.eq(one) for one in "abc"]
    assert all_of(*parts) == AllOf(parts=tuple(parts))
    assert any_of(*parts) == AnyOf(parts=tuple(parts))
    assert filters.all_of(parts[0]) == parts[0]
