"""Rows to domain values, for the nouns that share columns."""

from typing import Any

from ricordo_server.db.connection import Row
from ricordo_server.domain.scope import Scope


def scope_from(row: Row) -> Scope:
    return Scope(user_id=row["user_id"], session_id=row["session_id"], labels=row["labels"])


def scope_columns(scope: Scope) -> dict[str, Any]:
    """`labels` still wants the Jsonb wrapper of its statement."""
    return {"scope_key": scope.key, "user_id": scope.user_id, "session_id": scope.session_id}


def vector_text(vector: Any) -> str:
    """The input form of halfvec."""
    return "[" + ",".join(format(value, ".7g") for value in vector) + "]"
