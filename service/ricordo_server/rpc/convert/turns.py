"""Turns."""

from collections.abc import Iterable

from ricordo.v1 import turn_pb2
from ricordo_server.domain.errors import over_limit
from ricordo_server.domain.limits import MAX_CONTENT_BYTES, MAX_ROLE_BYTES, MAX_TOOL_CALLS
from ricordo_server.domain.session import ToolCall, Turn, TurnDraft
from ricordo_server.rpc.checks import check_count, check_encoded_size, check_json, check_text
from ricordo_server.rpc.convert.metadata import decode_metadata_map, encode_metadata_map
from ricordo_server.rpc.convert.scope import encode_scope
from ricordo_server.rpc.convert.times import decode_time, encode_time

NAMES = ("tool_call_id", "tool_name", "model_name", "agent_id")


def decode_turn(message: turn_pb2.Turn, field: str = "turn") -> TurnDraft:
    """What a caller may say; output fields are ignored."""
    check_encoded_size(field, message)
    has_other = bool(message.tool_calls or message.data_json)
    event_time = message.event_time if message.HasField("event_time") else None
    return TurnDraft(
        role=check_text(f"{field}.role", message.role, limit=MAX_ROLE_BYTES, required=True),
        content=check_text(
            f"{field}.content", message.content, limit=MAX_CONTENT_BYTES, required=not has_other
        ),
        tool_calls=_decode_tool_calls(message.tool_calls, f"{field}.tool_calls"),
        is_error=message.is_error,
        data_json=check_json(f"{field}.data_json", message.data_json),
        metadata=decode_metadata_map(message.metadata, f"{field}.metadata"),
        idempotency_key=check_text(f"{field}.idempotency_key", message.idempotency_key) or None,
        event_time=decode_time(event_time, f"{field}.event_time") if event_time else None,
        **{name: check_text(f"{field}.{name}", getattr(message, name)) for name in NAMES},
    )


def _decode_tool_calls(messages: Iterable[turn_pb2.ToolCall], field: str) -> tuple[ToolCall, ...]:
    decoded = tuple(
        ToolCall(
            tool_call_id=check_text(f"{field}[{number}].tool_call_id", message.tool_call_id),
            name=check_text(f"{field}[{number}].name", message.name, required=True),
            arguments_json=check_json(f"{field}[{number}].arguments_json", message.arguments_json),
        )
        for number, message in enumerate(messages)
    )
    check_count(field, len(decoded), MAX_TOOL_CALLS)
    size = sum(len(tool_call.arguments_json.encode()) for tool_call in decoded)
    if size > MAX_CONTENT_BYTES:
        raise over_limit(field, "bytes of arguments", MAX_CONTENT_BYTES, size)
    return decoded


def encode_turn(turn: Turn) -> turn_pb2.Turn:
    return turn_pb2.Turn(
        turn_id=turn.turn_id,
        store_id=turn.store_id,
        scope=encode_scope(turn.scope),
        turn_seq=turn.turn_seq,
        role=turn.role,
        content=turn.content,
        tool_calls=[turn_pb2.ToolCall(**vars(tool_call)) for tool_call in turn.tool_calls],
        tool_call_id=turn.tool_call_id,
        tool_name=turn.tool_name,
        is_error=turn.is_error,
        model_name=turn.model_name,
        data_json=turn.data_json,
        metadata=encode_metadata_map(turn.metadata),
        agent_id=turn.agent_id,
        idempotency_key=turn.idempotency_key or "",
        event_time=encode_time(turn.event_time),
        create_time=encode_time(turn.create_time),
        has_embedding=turn.has_embedding,
    )


def encode_basic_turn(turn: Turn) -> turn_pb2.Turn:
    message = encode_turn(turn)
    for name in ("content", "tool_calls", "data_json"):
        message.ClearField(name)
    return message
