"""Snapshots: contiguous runs of a session's turns, extracted together; and how far extraction is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.scope import Scope


class PromotionCause(StrEnum):
    TURN_COUNT = "TURN_COUNT"
    TOPIC_SHIFT = "TOPIC_SHIFT"
    IDLE = "IDLE"
    REQUESTED = "REQUESTED"
    FORK = "FORK"


class ExtractionState(StrEnum):
    PENDING = "PENDING"
    DONE = "DONE"
    FAILED = "FAILED"


@dataclass(frozen=True)
class KindExtraction:
    """How far the extraction of one kind from one snapshot is; `failure_class` is of the last failed attempt."""

    kind: MemoryKind
    state: ExtractionState
    attempts: int = 0
    failure_class: FailureClass | None = None


@dataclass(frozen=True)
class Snapshot:
    """The turns from `from_seq` to `to_seq`; those from `context_from_seq` on are given along, to be understood.

    `summary` is that of the episode that was extracted from it; empty before. `options` were said for what is made of
    it, as they were sent.
    """

    snapshot_id: str
    store_id: str
    scope: Scope
    from_seq: int
    to_seq: int
    context_from_seq: int
    cause: PromotionCause
    summary: str
    create_time: datetime
    extractions: Sequence[KindExtraction] = ()
    operation_id: str | None = None
    options: bytes | None = None


@dataclass(frozen=True)
class ExtractionFailure:
    """One kind out of one snapshot, given up after so many attempts; `failure_class` and `error` are of the last."""

    store_id: str
    scope: Scope
    snapshot_id: str
    from_seq: int
    to_seq: int
    kind: MemoryKind
    attempts: int
    failure_class: FailureClass
    error: str
    failure_time: datetime


@dataclass(frozen=True)
class KindProgress:
    """Of one kind, every turn up to `extracted_seq` is extracted; behind it snapshots are pending or failed."""

    kind: MemoryKind
    extracted_seq: int
    pending_snapshots: int = 0
    failed_snapshots: int = 0
    last_failure_class: FailureClass | None = None


@dataclass(frozen=True)
class ExtractionStatus:
    """Of a session: its last turn, the last that is in a snapshot, and how far each kind is."""

    last_turn_seq: int
    promoted_seq: int
    kinds: Sequence[KindProgress]
