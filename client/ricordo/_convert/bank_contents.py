"""Contents as turns: what is said is text, calls are tool calls, answers are what a tool says."""

import json

from ricordo import models
from ricordo.memory_bank import Content, FunctionCall, FunctionResponse, IngestionDirectContentsSourceEvent

OUR_ROLES = {"model": "assistant", "function": "tool"}
THEIR_ROLES = {ours: theirs for theirs, ours in OUR_ROLES.items()}


def our_role(role: str) -> str:
    """Who speaks, in our words."""
    return OUR_ROLES.get(role, role)


def their_role(role: str) -> str:
    """Who speaks, in the words of memory banks."""
    return THEIR_ROLES.get(role, role)


def text_of(content: Content) -> str:
    """What is said, a line for each part; thoughts and calls are not."""
    said = (part.text for part in content.parts if part.text and not part.thought)
    answered = (_json(each.response) for each in _responses(content))
    return "\n".join([*said, *answered])


def encode_spoken(content: Content) -> models.SpokenTurn | None:
    """A turn that is not recorded; None where nothing is said."""
    text = text_of(content)
    return models.SpokenTurn(role=_speaker(content), content=text) if text else None


def encode_event(event: IngestionDirectContentsSourceEvent) -> models.NewTurn | None:
    """A turn to record, known by the event's id; None where nothing is said or called."""
    calls = [part.function_call for part in event.content.parts if part.function_call]
    text = text_of(event.content)
    if not text and not calls:
        return None
    answered = next(iter(_responses(event.content)), None)
    return models.NewTurn(
        role=_speaker(event.content),
        content=text,
        tool_calls=tuple(map(_encode_call, calls)),
        tool_call_id=answered.id if answered else "",
        tool_name=answered.name if answered else "",
        idempotency_key=event.event_id,
        event_time=event.event_time,
    )


def _speaker(content: Content) -> str:
    return "tool" if _responses(content) else our_role(content.role)


def _responses(content: Content) -> list[FunctionResponse]:
    return [part.function_response for part in content.parts if part.function_response]


def _encode_call(call: FunctionCall) -> models.ToolCall:
    return models.ToolCall(tool_call_id=call.id, name=call.name, arguments_json=_json(call.args))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
