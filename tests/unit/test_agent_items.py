"""Items of a conversation become turns, and come back as they were."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo._convert.agent_items import decode_items, encode_item
from ricordo.errors import MemoryClientError
from ricordo.models import NewTurn, ToolCall

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CONTENT = TEXT | st.lists(st.fixed_dictionaries({"type": TEXT, "text": TEXT}), max_size=3)
ITEMS = st.one_of(
    st.fixed_dictionaries({"role": TEXT, "content": CONTENT}),
    st.fixed_dictionaries({"type": st.just("message"), "role": TEXT, "content": CONTENT, "id": TEXT}),
    st.fixed_dictionaries(
        {"type": st.just("function_call"), "call_id": TEXT, "name": TEXT, "arguments": TEXT}
    ),
    st.fixed_dictionaries({"type": st.just("function_call_output"), "call_id": TEXT, "output": CONTENT}),
    st.fixed_dictionaries({"type": TEXT, "summary": JSON}),
)


@given(ITEMS)
def test_every_item_comes_back_as_it_was(item: dict[str, Any]) -> None:
    assert list(decode_items(encode_item(item))) == [item]


@given(ITEMS)
def test_what_is_said_can_be_stored_as_text(item: dict[str, Any]) -> None:
    turn = encode_item(item)
    assert b"\0" not in turn.content.encode()
    assert turn.content or turn.tool_calls or turn.data_json


def test_a_plain_message_is_a_turn_and_nothing_else() -> None:
    assert encode_item({"role": "user", "content": "Hi."}, "bot") == NewTurn(
        role="user", content="Hi.", agent_id="bot"
    )


def test_the_text_of_parts_is_what_was_said() -> None:
    parts = [{"type": "output_text", "text": "Hi."}, {"type": "refusal", "refusal": "No."}, {"type": "image"}]
    turn = encode_item({"type": "message", "role": "assistant", "content": parts})
    assert turn.content == "Hi.\nNo."


def test_a_call_and_its_output_are_turns_with_tools() -> None:
    call = encode_item({"type": "function_call", "call_id": "c", "name": "tea", "arguments": "{}"})
    assert call.tool_calls == (ToolCall(tool_call_id="c", name="tea", arguments_json="{}"),)
    output = encode_item({"type": "function_call_output", "call_id": "c", "output": "green"})
    assert (output.role, output.tool_call_id, output.content) == ("tool", "c", "green")


def test_reasoning_is_kept_and_says_nothing() -> None:
    turn = encode_item({"type": "reasoning", "summary": [{"text": "Hm."}]})
    assert (turn.role, turn.content) == ("reasoning", "")


def test_a_turn_of_another_surface_is_its_message_and_its_calls() -> None:
    turn = NewTurn(
        role="assistant", content="One moment.", tool_calls=(ToolCall(tool_call_id="c", name="tea"),)
    )
    assert [item.get("type", "message") for item in decode_items(turn)] == ["message", "function_call"]


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(MemoryClientError, match="JSON values"):
        encode_item({"type": "reasoning", "summary": value})


@pytest.mark.parametrize("item", ["text", 5, None])
def test_what_is_no_map_is_no_item(item: Any) -> None:
    with pytest.raises(MemoryClientError, match="an item is a map"):
        encode_item(item)
