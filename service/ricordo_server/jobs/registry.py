"""Every kind of job that a worker knows, by name."""

from ricordo_server.jobs import housekeeping
from ricordo_server.jobs.kind import JobKind

KINDS: tuple[JobKind, ...] = housekeeping.KINDS
