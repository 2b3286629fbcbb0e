"""Items of a conversation, as the Responses API of OpenAI writes them, to turns and back.

A turn holds what was said as any other surface writes it: searched, and learned from. The item itself stands
in the turn's data, unless the turn alone gives it back: items of every type come back exactly as they went in.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ricordo.errors import MemoryClientError
from ricordo.models import NewTurn, ToolCall

Item = Mapping[str, Any]


def encode_item(item: Item, agent_id: str = "") -> NewTurn:
    """The turn that keeps an item.

    Raises:
        MemoryClientError: The item is no map, or not made of JSON values.
    """
    if not isinstance(item, Mapping):
        raise MemoryClientError(
            f"an item is a map such as {{'role': 'user', 'content': ...}}, not {item!r:.60}"
        )
    said = _encode_said(item).model_copy(update={"agent_id": agent_id})
    if (said.content or said.tool_calls) and list(decode_items(said)) == [item]:
        return said
    return said.model_copy(update={"data_json": _json(item)})


def decode_items(turn: NewTurn) -> Iterator[dict[str, Any]]:
    """The items of a turn: one, or several where another surface wrote what was said beside tool calls."""
    kept = json.loads(turn.data_json) if turn.data_json else None
    if isinstance(kept, dict) and ("type" in kept or "role" in kept):
        yield kept
    elif turn.tool_call_id:
        yield {"type": "function_call_output", "call_id": turn.tool_call_id, "output": turn.content}
    else:
        if turn.content:
            yield {"role": turn.role, "content": turn.content}
        yield from map(_decode_call, turn.tool_calls)


def _encode_said(item: Item) -> NewTurn:
    match item.get("type", "message"):
        case "message":
            return NewTurn(role=str(item.get("role", "")), content=_text(item.get("content")))
        case "function_call":
            return NewTurn(role="assistant", tool_calls=(_encode_call(item),))
        case "function_call_output":
            call_id = str(item.get("call_id", ""))
            return NewTurn(role="tool", tool_call_id=call_id, content=_text(item.get("output")))
        case other:  # reasoning, and what only a provider reads: kept, and nothing to learn from
            return NewTurn(role=str(other)[:64], data_json=_json(item))


def _encode_call(item: Item) -> ToolCall:
    arguments = str(item.get("arguments", ""))
    try:
        json.loads(arguments or "{}")
    except ValueError:  # as the model wrote it: text, then
        arguments = json.dumps(arguments)
    return ToolCall(
        tool_call_id=str(item.get("call_id", "")), name=str(item.get("name", "")), arguments_json=arguments
    )


def _decode_call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call.tool_call_id,
        "name": call.name,
        "arguments": call.arguments_json,
    }


def _text(content: object) -> str:
    """What a person reads of a content: text, or the text of its parts. Without what no database keeps as text."""
    parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else _part_text(part) for part in parts]
    whole = "\n".join(filter(None, texts)).replace("\0", "")
    return whole.encode("utf-8", "replace").decode()


def _part_text(part: object) -> str:
    found = (part.get("text") or part.get("refusal")) if isinstance(part, Mapping) else None
    return found if isinstance(found, str) else ""


def _json(item: Item) -> str:
    try:
        return json.dumps(item, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise MemoryClientError(f"an item of a session is made of JSON values: {error}") from None
