"""Scopes, scope filters, visibility."""

from ricordo.v1 import scope_pb2
from ricordo_server.domain.errors import DomainError, Reason, invalid_field, over_limit
from ricordo_server.domain.limits import MAX_SCOPE_PAIRS
from ricordo_server.domain.scope import (
    EVERY_SCOPE,
    Exactly,
    Matching,
    ReadableBy,
    Scope,
    ScopeFilter,
    Visibility,
)
from ricordo_server.rpc.checks import check_text
from ricordo_server.rpc.convert.enums import decode_enum


def decode_scope(message: scope_pb2.Scope, field: str = "scope") -> Scope:
    """A `user_id` or `session_id` that is the empty string is "not given"."""
    scope = Scope(
        user_id=decode_name(message.user_id, f"{field}.user_id"),
        session_id=decode_name(message.session_id, f"{field}.session_id"),
        labels={
            check_text(f"{field}.labels", key, required=True): _value(value, f"{field}.labels[{key!r}]")
            for key, value in message.labels.items()
        },
    )
    if scope.pair_count > MAX_SCOPE_PAIRS:
        raise over_limit(field, "pairs", MAX_SCOPE_PAIRS, scope.pair_count)
    return scope


def decode_name(value: str, field: str) -> str | None:
    """One value of a scope; the empty string is "not given"."""
    return _value(value, field) if value else None


def _value(value: str, field: str) -> str:
    """A blank value is refused: taken for "not given" it would let a read see, and a write reach, everyone's rows."""
    if not value.strip():
        raise invalid_field(field, f"{field} is blank: give a value, or leave the whole field out")
    if "*" in value:
        raise invalid_field(field, f"{field} holds '*', which scopes may not: scopes are never patterns")
    return check_text(field, value)


def encode_scope(scope: Scope) -> scope_pb2.Scope:
    return scope_pb2.Scope(
        user_id=scope.user_id or "", session_id=scope.session_id or "", labels=scope.labels
    )


def decode_scope_filter(message: scope_pb2.ScopeFilter, field: str = "scope") -> ScopeFilter:
    match message.WhichOneof("rule"):
        case "matching":
            return Matching(decode_scope(message.matching, f"{field}.matching"))
        case "exactly":
            return Exactly(
                required_scope(decode_scope(message.exactly, f"{field}.exactly"), f"{field}.exactly")
            )
        case "readable_by":
            user_id = decode_name(message.readable_by.user_id, f"{field}.readable_by.user_id")
            if user_id is None:
                message_text = "readable_by needs a user_id: give one, or another rule"
                raise DomainError(Reason.SCOPE_REQUIRED, message_text, f"{field}.readable_by.user_id")
            session_id = decode_name(message.readable_by.session_id, f"{field}.readable_by.session_id")
            return ReadableBy(user_id, session_id)
        case _:
            return EVERY_SCOPE


def required_scope(scope: Scope, field: str) -> Scope:
    if scope.pair_count == 0:
        raise DomainError(
            Reason.SCOPE_REQUIRED, f"{field} is empty: give a user_id, a session_id or labels", field
        )
    return scope


def decode_visibility(number: int, field: str = "visibility") -> Visibility | None:
    """None when not given."""
    return decode_enum(number, scope_pb2.Visibility.DESCRIPTOR, Visibility, field)
