"""Sessions."""

from collections.abc import Sequence
from dataclasses import replace

from uuid_utils.compat import uuid7

from ricordo.v1 import scope_pb2, session_pb2, session_service_pb2
from ricordo_server.app.forgetting import Forgotten
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import Session, SessionDraft
from ricordo_server.rpc.checks import check_text
from ricordo_server.rpc.convert.metadata import decode_metadata_map, encode_metadata_map
from ricordo_server.rpc.convert.scope import decode_name, decode_scope, encode_scope
from ricordo_server.rpc.convert.times import encode_time
from ricordo_server.rpc.convert.trigger_rules import decode_rule, encode_rule


def decode_session_scope(message: scope_pb2.Scope, field: str = "scope") -> Scope:
    """A user or labels, and a session_id.

    Raises:
        DomainError: SCOPE_REQUIRED.
    """
    scope = decode_scope(message, field)
    if scope.user_id is None and not scope.labels:
        raise DomainError(
            Reason.SCOPE_REQUIRED, f"{field} needs whose session it is: a user_id or labels", field
        )
    if scope.session_id is None:
        advice = f"{field} needs a session_id: give one, or create a session and take its id"
        raise DomainError(Reason.SCOPE_REQUIRED, advice, f"{field}.session_id")
    return scope


def decode_session(message: session_pb2.Session, field: str = "session") -> SessionDraft:
    """What a caller may say; output fields are ignored. A session without an id gets one."""
    given = scope_pb2.Scope(user_id=message.scope.user_id, labels=message.scope.labels)
    given.session_id = message.scope.session_id or str(uuid7())
    named = session_pb2.Session(scope=given, metadata=message.metadata)
    parent_session_id = check_text(f"{field}.parent_session_id", message.parent_session_id)
    if parent_session_id == given.session_id:
        raise invalid_field(f"{field}.parent_session_id", "a session cannot be its own parent: leave it out")
    return replace(
        decode_named_session(named, field),
        parent_session_id=parent_session_id,
        trigger_rule=decode_rule(message.trigger_rule, f"{field}.trigger_rule"),
    )


def decode_named_session(message: session_pb2.Session, field: str = "session") -> SessionDraft:
    """A session by its whole scope, with metadata."""
    return SessionDraft(
        scope=decode_session_scope(message.scope, f"{field}.scope"),
        metadata=decode_metadata_map(message.metadata, f"{field}.metadata"),
    )


def decode_copy(request: session_service_pb2.ForkSessionRequest) -> SessionDraft:
    """What a fork is called, beside the session that it copies."""
    session_id = decode_name(request.session_id, "session_id") or str(uuid7())
    scope = replace(decode_session_scope(request.scope), session_id=session_id)
    return SessionDraft(scope=scope, metadata=decode_metadata_map(request.metadata, "metadata"))


def check_session_mask(paths: Sequence[str]) -> None:
    """Raises DomainError: INVALID_FIELD."""
    if not paths or any(path != "metadata" for path in paths):
        raise invalid_field("update_mask", "update_mask is required; accepted: metadata")


def encode_forgotten(forgotten: Forgotten) -> dict[str, int]:
    """As the answers of what removes turns have it."""
    return {"deleted_memory_count": forgotten.removed, "restored_memory_count": forgotten.restored}


def encode_session(session: Session) -> session_pb2.Session:
    return session_pb2.Session(
        store_id=session.store_id,
        scope=encode_scope(session.scope),
        parent_session_id=session.parent_session_id,
        root_session_id=session.root_session_id,
        metadata=encode_metadata_map(session.metadata),
        create_time=encode_time(session.create_time),
        update_time=encode_time(session.update_time),
        last_activity_time=encode_time(session.last_activity_time),
        last_turn_seq=session.last_turn_seq,
        trigger_rule=encode_rule(session.trigger_rule) if session.trigger_rule else None,
        extracted_turn_seq=session.extracted_seq,
    )
