"""Every kind of job that a worker knows, by name."""

from ricordo_server.jobs import completion, extraction, housekeeping, operations, pipelines
from ricordo_server.jobs.kind import JobKind

KINDS: tuple[JobKind, ...] = (
    *housekeeping.KINDS,
    *completion.KINDS,
    *extraction.KINDS,
    *operations.KINDS,
    *pipelines.KINDS,
)
