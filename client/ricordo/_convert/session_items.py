"""Items of session stores are turns: JSON values to them and back, and the conditions of a list."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ricordo._convert.agent_items import decode_items, encode_item
from ricordo.errors import MemoryClientError
from ricordo.models import NewTurn, SessionItem, SpokenTurn, Turn

# The role of what is no message: kept, and nothing to learn from.
ITEM = "item"
ACTOR = re.compile(r'\s*actor_id\s*=\s*"(?P<actor>[^"\\]*)"\s*(?:AND\s+(?P<rest>.+))?', re.DOTALL)


def encode_data(items: Sequence[Any]) -> list[NewTurn]:
    """The turns that items are.

    Raises:
        MemoryClientError: There are none, or one is not made of JSON values.
    """
    if isinstance(items, str | Mapping) or not items:
        raise MemoryClientError("give a list of at least one item")
    return [_encode(item) for item in items]


def _encode(data: Any) -> NewTurn:
    if isinstance(data, Mapping) and ("role" in data or "type" in data):
        return encode_item(data)
    try:
        return NewTurn(role=ITEM, data_json=json.dumps(data, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise MemoryClientError(f"an item is made of JSON values: {error}") from None


def decode_item(turn: Turn) -> SessionItem:
    """The item that a turn is; what another surface recorded beside tool calls is a list."""
    return SessionItem(item_id=turn.turn_id, data=_decode(turn), create_time=turn.create_time)


def _decode(turn: Turn) -> Any:
    if turn.role == ITEM:
        return json.loads(turn.data_json)
    found = list(decode_items(turn))
    return found[0] if len(found) == 1 else found


def spoken(turn: Turn) -> SpokenTurn:
    """What was said, for a store that the session does not lie in."""
    return SpokenTurn(role=turn.role, content=turn.content, event_time=turn.event_time or turn.create_time)


def split_actor(condition: str | None, actor_id: str | None) -> tuple[str, str | None]:
    """The actor that a list is about, "" for all, and what else its filter asks for.

    Raises:
        MemoryClientError: The filter and the argument name two actors.
    """
    found = ACTOR.fullmatch(condition or "")
    if found is None:
        return actor_id or "", condition
    if actor_id and actor_id != found["actor"]:
        raise MemoryClientError("actor_id and the filter name two actors: give one")
    return found["actor"], found["rest"]
