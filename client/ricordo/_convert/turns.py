"""Sessions and turns, to the wire and back."""

from ricordo import models
from ricordo._convert import scopes, values
from ricordo.v1 import session_pb2, turn_pb2
from ricordo.v1 import session_service_pb2 as pb


def encode_turn(turn: models.NewTurn) -> turn_pb2.Turn:
    """Encodes a turn to record."""
    return turn_pb2.Turn(
        role=turn.role,
        content=turn.content,
        tool_calls=[turn_pb2.ToolCall(**call.model_dump()) for call in turn.tool_calls],
        tool_call_id=turn.tool_call_id,
        tool_name=turn.tool_name,
        is_error=turn.is_error,
        model_name=turn.model_name,
        data_json=turn.data_json,
        metadata=values.encode_metadata(turn.metadata),
        agent_id=turn.agent_id,
        idempotency_key=turn.idempotency_key,
        event_time=values.encode_time(turn.event_time, "event_time"),
    )


def decode_turn(turn: turn_pb2.Turn) -> models.Turn:
    """Decodes a turn as stored."""
    return models.Turn(
        turn_id=turn.turn_id,
        store_id=turn.store_id,
        scope=scopes.decode_scope(turn.scope),
        turn_seq=turn.turn_seq,
        role=turn.role,
        content=turn.content,
        tool_calls=tuple(_decode_tool_call(call) for call in turn.tool_calls),
        tool_call_id=turn.tool_call_id,
        tool_name=turn.tool_name,
        is_error=turn.is_error,
        model_name=turn.model_name,
        data_json=turn.data_json,
        metadata=values.decode_metadata(turn.metadata),
        agent_id=turn.agent_id,
        idempotency_key=turn.idempotency_key,
        event_time=values.decode_optional_time(turn.event_time, turn.HasField("event_time")),
        create_time=values.decode_time(turn.create_time),
        has_embedding=turn.has_embedding,
        content_omitted=turn.content_omitted,
    )


def decode_recorded(reply: pb.RecordTurnResponse | pb.RecordedTurn) -> models.RecordedTurn:
    """Decodes what became of a turn."""
    return models.RecordedTurn(turn=decode_turn(reply.turn), created=reply.created)


def decode_session(session: session_pb2.Session) -> models.Session:
    """Decodes a session."""
    return models.Session(
        store_id=session.store_id,
        scope=scopes.decode_scope(session.scope),
        parent_session_id=session.parent_session_id,
        root_session_id=session.root_session_id,
        metadata=values.decode_metadata(session.metadata),
        create_time=values.decode_time(session.create_time),
        update_time=values.decode_time(session.update_time),
        last_activity_time=values.decode_time(session.last_activity_time),
        last_turn_seq=session.last_turn_seq,
        trigger_rule=_decode_rule(session.trigger_rule) if session.HasField("trigger_rule") else None,
        extracted_turn_seq=session.extracted_turn_seq,
    )


def _decode_rule(rule: session_pb2.TriggerRule) -> models.TriggerRule:
    timing = rule.WhichOneof("timing")
    return models.TriggerRule(
        turn_count=rule.turn_count if rule.HasField("turn_count") else None,
        idle=rule.idle.ToTimedelta() if timing == "idle" else None,
        interval=rule.interval.ToTimedelta() if timing == "interval" else None,
        overlap=rule.overlap,
    )


def _decode_tool_call(call: turn_pb2.ToolCall) -> models.ToolCall:
    return models.ToolCall(tool_call_id=call.tool_call_id, name=call.name, arguments_json=call.arguments_json)


def decode_deleted_turn(reply: pb.DeleteTurnResponse) -> models.DeletedTurn:
    """Decodes what went with a turn."""
    return models.DeletedTurn(
        memories=reply.deleted_memory_count, restored_memories=reply.restored_memory_count
    )


def decode_deleted(reply: pb.DeleteSessionResponse | pb.ClearSessionResponse) -> models.DeletedSession:
    """Decodes what went with a session, or out of it."""
    return models.DeletedSession(
        turns=reply.deleted_turn_count,
        memories=reply.deleted_memory_count,
        restored_memories=reply.restored_memory_count,
        sessions=reply.deleted_session_count if isinstance(reply, pb.DeleteSessionResponse) else 0,
    )
