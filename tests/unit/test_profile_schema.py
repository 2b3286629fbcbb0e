"""Which schemas a profile may have, and which values they allow."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.profile_schema import ProfileSchema, ProfileSchemaError, check_schema

NAME: dict[str, Any] = {"type": "string", "minLength": 1}
PERSON = {
    "type": "object",
    "title": "A person",
    "properties": {
        "name": NAME,
        "age": {"type": "integer", "minimum": 0},
        "likes": {"type": "array", "items": NAME, "maxItems": 3},
        "home": {"type": "object", "properties": {"city": NAME}, "additionalProperties": False},
        "member": {"type": "boolean"},
        "plan": {"type": "string", "enum": ["free", "pro"]},
    },
    "required": ["name"],
}
SCHEMA = ProfileSchema("person", json.dumps(PERSON))


def profile(properties: Any, **others: Any) -> str:
    return json.dumps({"type": "object", "properties": properties, **others})


def nested(levels: int) -> dict[str, Any]:
    return {"type": "array", "items": nested(levels - 1)} if levels else NAME


def test_a_schema_of_a_profile_is_accepted() -> None:
    check_schema(json.dumps(PERSON))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "it is no JSON"),
        ("[" * 10_000, "it is no JSON"),
        ("[]", "$: a profile is an object"),
        (json.dumps({"type": "array", "items": NAME}), "$: a profile is an object"),
        (profile({}), "$.properties: a profile has 1 to 64"),
        (profile({f"p{number}": NAME for number in range(65)}), "$.properties: a profile has 1 to 64"),
        (profile({"first name": NAME}), "$.properties: the name 'first name'"),
        (profile({"\ud800": NAME}), "it is no JSON"),
        (profile([]), "$.properties: give an object"),
        (profile({"a": {}}), "$.properties.a: every schema has one type"),
        (profile({"a": True}), "$.properties.a: every schema has one type"),
        (profile({"a": {"type": ["string", "null"]}}), "$.properties.a: every schema has one type"),
        (profile({"a": {**NAME, "pattern": "(a+)+$"}}), "$.properties.a.pattern"),
        (profile({"a": {"type": "object", "$ref": "http://x"}}), "$.properties.a.$ref"),
        (
            profile({"a": {"type": "object", "additionalProperties": NAME}}),
            "$.properties.a.additionalProperties",
        ),
        (profile({"a": {"type": "array", "items": {"type": "x"}}}), "$.properties.a.items"),
        (profile({"a": nested(4)}), "$.properties.a.items.items.items.items: a schema is at most"),
        (profile({"a": {**NAME, "minLength": "1"}}), "$.properties.a.minLength"),
        (profile({"a": NAME}, required="a"), "$.required"),
    ],
)
def test_another_is_refused_with_the_place(text: str, place: str) -> None:
    with pytest.raises(ProfileSchemaError) as caught:
        check_schema(text)
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    ("field", "content", "value"),
    [
        ("name", "Ann", "Ann"),
        ("name", "36", "36"),
        ("age", "36", 36),
        ("likes", '["tea"]', ["tea"]),
        ("home", '{"city": "Rome"}', {"city": "Rome"}),
        ("member", "true", True),
        ("plan", "pro", "pro"),
    ],
)
def test_a_value_is_read_by_its_type(field: str, content: str, value: object) -> None:
    assert SCHEMA.value_of(field, content) == value


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("nickname", "A"),
        ("name", ""),
        ("name", "x" * 4_097),
        ("age", "old"),
        ("age", "-1"),
        ("age", "1.5"),
        ("age", "NaN"),
        ("age", "true"),
        ("age", str(2**63)),
        ("likes", '["a", "b", "c", "d"]'),
        ("likes", "[1]"),
        ("likes", '["\\ud800"]'),
        ("likes", "[" * 4_000),
        ("home", '{"town": "Rome"}'),
        ("plan", "gold"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused(field: str, content: str) -> None:
    with pytest.raises(ProfileSchemaError):
        SCHEMA.value_of(field, content)


@given(st.text())
def test_no_text_is_anything_but_a_schema_or_refused(text: str) -> None:
    try:
        check_schema(text)
    except ProfileSchemaError:
        return
    assert json.loads(text)["properties"]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_of_the_right_type_comes_back_and_no_other_does(value: object) -> None:
    types: dict[str, type] = {"boolean": bool, "array": list, "object": dict}
    schema = ProfileSchema("any", profile({name: {"type": name} for name in types}))
    for name, right in types.items():
        try:
            assert schema.value_of(name, json.dumps(value)) == value
            assert isinstance(value, right)
        except ProfileSchemaError:
            assert not isinstance(value, right)
