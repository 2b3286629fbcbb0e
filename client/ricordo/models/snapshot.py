"""Snapshots of sessions, and how far extraction is."""

from datetime import datetime

from ricordo.models.base import FailureClass, MemoryKind, Model, Word
from ricordo.models.scope import Scope


class PromotionCause(Word):
    """Why turns became a snapshot."""

    TURN_COUNT = "turn_count"
    TOPIC_SHIFT = "topic_shift"
    IDLE = "idle"
    REQUESTED = "requested"
    FORK = "fork"


class ExtractionState(Word):
    """How far the extraction of a kind from a snapshot is."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class KindExtraction(Model):
    """One kind out of one snapshot; `failure_class` is of the last of the failed attempts."""

    kind: MemoryKind
    state: ExtractionState
    failed_attempts: int = 0
    failure_class: FailureClass | None = None


class Snapshot(Model):
    """A run of a session's turns that is extracted together. `summary` is that of the episode made of it."""

    snapshot_id: str
    store_id: str = ""
    scope: Scope
    from_turn_seq: int
    to_turn_seq: int
    context_from_turn_seq: int
    cause: PromotionCause
    summary: str = ""
    create_time: datetime
    extractions: tuple[KindExtraction, ...] = ()


class KindProgress(Model):
    """How far one kind is in one session: every turn up to `extracted_turn_seq` is extracted."""

    kind: MemoryKind
    extracted_turn_seq: int = 0
    pending_snapshots: int = 0
    failed_snapshots: int = 0
    last_failure_class: FailureClass | None = None


class ExtractionStatus(Model):
    """How far the extraction of a session is. Turns behind `promoted_turn_seq` are in no snapshot yet."""

    last_turn_seq: int = 0
    promoted_turn_seq: int = 0
    kinds: tuple[KindProgress, ...] = ()


class ExtractionFailure(Model):
    """One kind out of one snapshot, given up after so many attempts; `failure_class` and `error` are of the last."""

    store_id: str
    scope: Scope
    snapshot_id: str
    from_turn_seq: int
    to_turn_seq: int
    kind: MemoryKind
    attempts: int
    failure_class: FailureClass
    error: str = ""
    failure_time: datetime
