"""What an operator sees of the job queue: numbers, never content."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ricordo_server.domain.failure import FailureClass


@dataclass(frozen=True)
class QueueCounts:
    """Jobs of one project, or of all.

    `waiting` jobs are due, `scheduled` ones not yet; `oldest_due_time` is since when the first of the waiting is due.
    `last_failure_class` is that of the newest failed attempt among the jobs that are still there.
    """

    waiting: int = 0
    scheduled: int = 0
    running: int = 0
    failed: int = 0
    oldest_due_time: datetime | None = None
    last_failure_class: FailureClass | None = None


@dataclass(frozen=True)
class ProjectQueue:
    """`project_id` is None for the installation's own housekeeping."""

    project_id: UUID | None
    counts: QueueCounts


@dataclass(frozen=True)
class QueueStatus:
    """`workers` sent a heartbeat lately; `projects` has those with most jobs waiting first, and not all of many."""

    workers: int
    total: QueueCounts
    projects: Sequence[ProjectQueue]
