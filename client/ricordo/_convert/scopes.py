"""Scopes, and which rows a read may see."""

from ricordo import models
from ricordo.errors import MemoryClientError
from ricordo.v1 import scope_pb2


def encode_scope(scope: models.Scope) -> scope_pb2.Scope:
    """Encodes a scope, or the scope of a rule."""
    return scope_pb2.Scope(user_id=scope.user_id, session_id=scope.session_id, labels=scope.labels)


def decode_scope(scope: scope_pb2.Scope) -> models.Scope:
    """Decodes a scope."""
    return models.Scope(user_id=scope.user_id, session_id=scope.session_id, labels=dict(scope.labels))


def encode_scope_filter(scope: models.ScopeFilter | None) -> scope_pb2.ScopeFilter | None:
    """Encodes which rows a read may see.

    Raises:
        MemoryClientError: A bare `Scope`, which does not say how it is to be matched.
    """
    match scope:
        case None:
            return None
        case models.Matching():
            return scope_pb2.ScopeFilter(matching=encode_scope(scope))
        case models.Exactly():
            return scope_pb2.ScopeFilter(exactly=encode_scope(scope))
        case models.ReadableBy():
            rule = scope_pb2.ReadableBy(user_id=scope.user_id, session_id=scope.session_id)
            return scope_pb2.ScopeFilter(readable_by=rule)
    raise MemoryClientError(f"a read takes Matching, Exactly or ReadableBy as its scope, not {scope!r}")
