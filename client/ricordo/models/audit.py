"""The audit, and what an erasure removed."""

from collections.abc import Mapping
from datetime import datetime

from ricordo.models.base import Model, Word


class AuditOutcome(Word):
    """What came of an act."""

    DONE = "done"
    DENIED = "denied"


class AuditRecord(Model):
    """Who administered something, or was denied something.

    `action` is the call, `user_id` the end user it was made as, `subject` the id of what it was done to.
    `occurrences` counts the same denial within its hour; the 1st, 10th, 100th and so on are recorded.
    """

    audit_id: str
    action: str
    outcome: AuditOutcome
    principal_id: str
    user_id: str = ""
    subject: str = ""
    occurrences: int = 1
    create_time: datetime


class ErasureReceipt(Model):
    """The number of rows by table; when not `done` they were only counted."""

    row_counts: Mapping[str, int]
    done: bool

    @property
    def total(self) -> int:
        """Of all tables."""
        return sum(self.row_counts.values())
