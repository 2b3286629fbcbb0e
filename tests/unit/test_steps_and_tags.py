import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo._convert.steps import decode_steps, encode_steps
from ricordo._convert.tags import flatten_tags, nest_tags, tags_of
from ricordo.errors import MemoryClientError

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
odd_texts = st.sampled_from(['{"a": 1}', '"quoted"', "{", '"', "{broken}", "[1]", "1", ""])


@given(st.lists(st.dictionaries(texts, json_values, max_size=3) | texts | odd_texts, max_size=4))
def test_steps_come_back_as_they_were_saved(steps: list[Any]) -> None:
    assert decode_steps(encode_steps(steps, "steps")) == steps


@pytest.mark.parametrize("text", ["{broken", '"half', "plain", "[1, 2]"])
def test_text_that_another_client_wrote_is_left_as_it_is(text: str) -> None:
    assert decode_steps([text]) == [text]


@pytest.mark.parametrize("steps", ["one text", [1], [None], [{"a": object()}], [{"a": float("nan")}]])
def test_what_is_no_step_is_refused(steps: Any) -> None:
    with pytest.raises(MemoryClientError, match="steps"):
        encode_steps(steps, "steps")


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "g.x", "g.y", "h.$", "h.z"]).filter(lambda name: "$" not in name),
        st.booleans() | st.integers() | st.sampled_from(["gold", "a.b"]),
    )
)
def test_tags_survive_as_metadata(flat: dict[str, Any]) -> None:
    nested = nest_tags(flatten_tags(flat))
    assert tags_of(nested) == flat == flatten_tags(nested)
    json.dumps(nested)
