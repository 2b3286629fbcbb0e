"""The audit: who administered what, and who was denied what. Never content."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class AuditOutcome(StrEnum):
    DONE = "DONE"
    DENIED = "DENIED"


@dataclass(frozen=True)
class AuditRecord:
    """`action` is the RPC, `user_id` the end user it was called as, `subject` the id of what it was done to.

    `occurrences` counts the same denial within its hour, this one included.
    """

    audit_id: UUID
    action: str
    outcome: AuditOutcome
    principal_id: str
    user_id: str
    subject: str
    occurrences: int
    create_time: datetime
