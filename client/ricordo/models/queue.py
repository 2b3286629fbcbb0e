"""The job queue: how much background work waits."""

from datetime import datetime

from ricordo.models.base import FailureClass, Model


class QueueCounts(Model):
    """Numbers of jobs that are not done: due, for later, under way, given up.

    `oldest_due_time` is since when the first of the waiting is due, `last_failure_class` why the newest attempt that
    failed did so.
    """

    waiting: int = 0
    scheduled: int = 0
    running: int = 0
    failed: int = 0
    oldest_due_time: datetime | None = None
    last_failure_class: FailureClass | None = None


class ProjectQueue(Model):
    """The jobs of one project; `project_id` is empty for the installation's own housekeeping."""

    project_id: str = ""
    counts: QueueCounts


class QueueStatus(Model):
    """Of the installation, or of one project. `projects` has those with most jobs waiting first, at most 100."""

    workers: int = 0
    total: QueueCounts
    projects: tuple[ProjectQueue, ...] = ()
