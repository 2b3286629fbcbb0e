"""Rows to domain values, for the nouns that share columns."""

from typing import Any

from ricordo_server.db.connection import Row
from ricordo_server.domain.promotion import Backlog, PromotionTriggers
from ricordo_server.domain.scope import Scope


def scope_from(row: Row) -> Scope:
    return Scope(user_id=row["user_id"], session_id=row["session_id"], labels=row["labels"])


def scope_columns(scope: Scope) -> dict[str, Any]:
    """`labels` still wants the Jsonb wrapper of its statement."""
    return {"scope_key": scope.key, "user_id": scope.user_id, "session_id": scope.session_id}


def backlog_from(row: Row, last_seq: int) -> Backlog:
    """Of a session's row; `last_seq` is the number of its last turn by now."""
    return Backlog(
        row["promoted_seq"],
        last_seq,
        row["promotion_pending"],
        row["last_activity_time"],
        rule=PromotionTriggers(**row["trigger_rule"]) if row["trigger_rule"] else None,
        options=row["generation_options"],
    )


def vector_text(vector: Any) -> str:
    """The input form of halfvec."""
    return "[" + ",".join(format(value, ".7g") for value in vector) + "]"
