"""The requests of SessionService."""

from collections.abc import Iterable, Mapping

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import enums, paging, scopes, values
from ricordo._convert.filters import encode_condition
from ricordo._convert.sendable import sendable
from ricordo._convert.turns import encode_turn
from ricordo.filters import SESSION_FIELDS, TURN_FIELDS, FilterInput
from ricordo.models import MetadataValue
from ricordo.v1 import generation_pb2, search_pb2, session_pb2
from ricordo.v1 import session_service_pb2 as pb


@sendable
def create_session_request(
    scope: models.Scope,
    *,
    parent_session_id: str,
    metadata: Mapping[str, MetadataValue] | None,
    trigger_rule: models.TriggerRule | None,
    store: str | None,
    request_id: str | None,
) -> pb.CreateSessionRequest:
    """Asks for a new session."""
    session = session_pb2.Session(
        scope=scopes.encode_scope(scope),
        parent_session_id=parent_session_id,
        metadata=values.encode_metadata(metadata or {}),
        trigger_rule=None if trigger_rule is None else _encode_rule(trigger_rule),
    )
    return pb.CreateSessionRequest(store_id=store or "", session=session, request_id=paging.fresh(request_id))


@sendable
def get_session_request(scope: models.Scope, *, store: str | None) -> pb.GetSessionRequest:
    """Asks for a session."""
    return pb.GetSessionRequest(store_id=store or "", scope=scopes.encode_scope(scope))


@sendable
def list_sessions_request(
    *,
    scope: models.ScopeFilter | None,
    filters: FilterInput | None,
    order_by: str,
    page_size: int | None,
    store: str | None,
) -> pb.ListSessionsRequest:
    """Asks for a page of sessions."""
    return pb.ListSessionsRequest(
        store_id=store or "",
        scope=scopes.encode_scope_filter(scope),
        **encode_condition(filters, SESSION_FIELDS),
        order_by=paging.encode_order(order_by),
        page_size=page_size,
    )


@sendable
def update_session_request(
    scope: models.Scope,
    *,
    metadata: Mapping[str, MetadataValue],
    store: str | None,
    request_id: str | None,
) -> pb.UpdateSessionRequest:
    """Asks for other metadata of a session."""
    session = session_pb2.Session(scope=scopes.encode_scope(scope), metadata=values.encode_metadata(metadata))
    return pb.UpdateSessionRequest(
        store_id=store or "",
        session=session,
        update_mask=FieldMask(paths=["metadata"]),
        request_id=paging.fresh(request_id),
    )


@sendable
def delete_session_request(
    scope: models.Scope, *, cascade: bool, store: str | None, request_id: str | None
) -> pb.DeleteSessionRequest:
    """Asks to delete a session."""
    return pb.DeleteSessionRequest(
        store_id=store or "",
        scope=scopes.encode_scope(scope),
        cascade=cascade,
        request_id=paging.fresh(request_id),
    )


@sendable
def fork_session_request(
    scope: models.Scope,
    *,
    up_to_turn_id: str,
    session_id: str,
    metadata: Mapping[str, MetadataValue] | None,
    store: str | None,
    request_id: str | None,
) -> pb.ForkSessionRequest:
    """Asks to copy a session."""
    return pb.ForkSessionRequest(
        store_id=store or "",
        scope=scopes.encode_scope(scope),
        up_to_turn_id=up_to_turn_id,
        session_id=session_id,
        metadata=values.encode_metadata(metadata or {}),
        request_id=paging.fresh(request_id),
    )


@sendable
def clear_session_request(
    scope: models.Scope, *, store: str | None, request_id: str | None
) -> pb.ClearSessionRequest:
    """Asks to delete a session's turns."""
    return pb.ClearSessionRequest(
        store_id=store or "", scope=scopes.encode_scope(scope), request_id=paging.fresh(request_id)
    )


@sendable
def pop_turn_request(scope: models.Scope, *, store: str | None, request_id: str | None) -> pb.PopTurnRequest:
    """Asks to remove a session's last turn."""
    return pb.PopTurnRequest(
        store_id=store or "", scope=scopes.encode_scope(scope), request_id=paging.fresh(request_id)
    )


@sendable
def record_turn_request(
    turn: models.NewTurn, *, scope: models.Scope, store: str | None, request_id: str | None
) -> pb.RecordTurnRequest:
    """Asks to record a turn."""
    return pb.RecordTurnRequest(
        store_id=store or "",
        scope=scopes.encode_scope(scope),
        turn=encode_turn(turn),
        request_id=paging.fresh(request_id),
    )


@sendable
def batch_record_turns_request(
    turns: Iterable[models.NewTurn], *, scope: models.Scope, store: str | None, request_id: str | None
) -> pb.BatchRecordTurnsRequest:
    """Asks to record several turns of one session."""
    return pb.BatchRecordTurnsRequest(
        store_id=store or "",
        scope=scopes.encode_scope(scope),
        turns=[encode_turn(turn) for turn in turns],
        request_id=paging.fresh(request_id),
    )


@sendable
def ingest_request(
    turns: Iterable[models.NewTurn],
    *,
    scope: models.Scope,
    trigger_rule: models.TriggerRule | None,
    force_flush: bool,
    generation: generation_pb2.GenerationOptions | None,
    store: str | None,
    request_id: str | None,
) -> pb.BatchRecordTurnsRequest:
    """Asks to record turns of a stream."""
    return pb.BatchRecordTurnsRequest(
        store_id=store or "",
        scope=scopes.encode_scope(scope),
        turns=[encode_turn(turn) for turn in turns],
        trigger_rule=None if trigger_rule is None else _encode_rule(trigger_rule),
        force_flush=force_flush,
        generation=generation,
        request_id=paging.fresh(request_id),
    )


def _encode_rule(rule: models.TriggerRule) -> session_pb2.TriggerRule:
    return session_pb2.TriggerRule(
        turn_count=rule.turn_count,
        idle=values.encode_duration(rule.idle),
        interval=values.encode_duration(rule.interval),
        overlap=rule.overlap,
    )


@sendable
def get_turn_request(turn_id: str, *, store: str | None) -> pb.GetTurnRequest:
    """Asks for a turn."""
    return pb.GetTurnRequest(store_id=store or "", turn_id=turn_id)


@sendable
def delete_turn_request(turn_id: str, *, store: str | None, request_id: str | None) -> pb.DeleteTurnRequest:
    """Asks for a turn to go."""
    return pb.DeleteTurnRequest(store_id=store or "", turn_id=turn_id, request_id=paging.fresh(request_id))


@sendable
def list_turns_request(
    *,
    scope: models.ScopeFilter | None,
    filters: FilterInput | None,
    order_by: str,
    view: models.View | str,
    page_size: int | None,
    store: str | None,
) -> pb.ListTurnsRequest:
    """Asks for a page of turns."""
    return pb.ListTurnsRequest(
        store_id=store or "",
        scope=scopes.encode_scope_filter(scope),
        **encode_condition(filters, TURN_FIELDS),
        order_by=paging.encode_order(order_by),
        view=enums.VIEW.encode(view),
        page_size=page_size,
    )


@sendable
def search_turns_request(
    options: search_pb2.SearchOptions,
    *,
    scope: models.ScopeFilter | None,
    filters: FilterInput | None,
    include_embedding: bool,
    store: str | None,
) -> pb.SearchTurnsRequest:
    """Asks for the turns that match best."""
    return pb.SearchTurnsRequest(
        store_id=store or "",
        options=options,
        scope=scopes.encode_scope_filter(scope),
        **encode_condition(filters, TURN_FIELDS),
        include_embedding=include_embedding,
    )
