"""Events and entries of the Agent Development Kit, to turns and facts and back; pure."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from ricordo.errors import MemoryClientError
from ricordo.models import Memory, MemoryKind, NewMemory, NewTurn, Scope, ToolCall

# The framework's own question for a credential: no part of what was said.
ASKS_FOR_CREDENTIAL = "adk_request_credential"
USER = "user"
AUTHOR = "author"


def turns_of(events: Sequence[Event], metadata: Mapping[str, Any]) -> list[NewTurn]:
    """What was said, without events that say nothing and those about credentials."""
    found = (_encode_event(event, metadata) for event in events)
    return [turn for turn in found if turn is not None]


def _encode_event(event: Event, metadata: Mapping[str, Any]) -> NewTurn | None:
    parts = (event.content.parts if event.content else None) or []
    calls = [part.function_call for part in parts if part.function_call]
    answers = [part.function_response for part in parts if part.function_response]
    text = text_of(event.content)
    names = [*(call.name for call in calls), *(answer.name for answer in answers)]
    if ASKS_FOR_CREDENTIAL in names or not (text or names):
        return None
    is_user = event.author == USER
    turn = NewTurn(
        role=USER if is_user else "assistant",
        content=text,
        tool_calls=tuple(map(_encode_call, calls)),
        agent_id="" if is_user else event.author,
        metadata=dict(metadata),
        idempotency_key=event.id,
        event_time=datetime.fromtimestamp(event.timestamp, UTC),
    )
    return turn.model_copy(update=_answered(answers)) if answers else turn


def _encode_call(call: types.FunctionCall) -> ToolCall:
    arguments = json.dumps(call.args or {}, default=str)
    return ToolCall(tool_call_id=call.id or "", name=call.name or "", arguments_json=arguments)


def _answered(answers: Sequence[types.FunctionResponse]) -> dict[str, Any]:
    said = (json.dumps(each.response or {}, ensure_ascii=False, default=str) for each in answers)
    first = answers[0]
    return {
        "role": "tool",
        "content": "\n".join(said),
        "tool_call_id": first.id or "",
        "tool_name": first.name or "",
    }


def text_of(content: types.Content | None) -> str:
    """The text of a content, a line for each part; thoughts are not said."""
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def new_memory(entry: MemoryEntry, scope: Scope, metadata: Mapping[str, Any]) -> NewMemory:
    """The fact that an entry states.

    Raises:
        MemoryClientError: It has no text, or its timestamp is none.
    """
    fact = text_of(entry.content)
    if not fact:
        raise MemoryClientError("a memory is made of text, and the entry has none")
    author = {AUTHOR: entry.author} if entry.author else {}
    return NewMemory(
        kind=MemoryKind.SEMANTIC,
        memory_id=entry.id or "",
        content=fact,
        scope=scope,
        metadata={**metadata, **entry.custom_metadata, **author},
        event_time=_time_of(entry.timestamp) if entry.timestamp else None,
    )


def _time_of(timestamp: str) -> datetime:
    try:
        found = datetime.fromisoformat(timestamp)
    except ValueError as error:
        raise MemoryClientError(f"the timestamp {timestamp!r} is not in ISO 8601: {error}") from None
    return found if found.tzinfo else found.astimezone()


def entry_of(memory: Memory) -> MemoryEntry:
    """A memory as an entry, for a model to read."""
    others = {name: value for name, value in memory.metadata.items() if name != AUTHOR}
    author = memory.metadata.get(AUTHOR)
    return MemoryEntry(
        id=memory.memory_id,
        content=types.Content(role=USER, parts=[types.Part(text=memory.content)]),
        author=author if isinstance(author, str) else None,
        timestamp=(memory.event_time or memory.update_time).isoformat(),
        custom_metadata=others,
    )
