"""When a session's turns become a snapshot."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.snapshot import PromotionCause

# A shift after fewer turns is a greeting or an aside.
LEAST_TOPIC_TURNS = 4
# An import of thousands of turns becomes snapshots that a model reads in a few windows.
MOST_SNAPSHOT_TURNS = 100
# Where idle time is no trigger, what was said last is not forgotten all the same.
FLUSH = timedelta(hours=24)


@dataclass(frozen=True)
class PromotionTriggers:
    """Whichever comes first. None: not that one.

    `topic_shift`: a turn whose cosine with the mean of the turns before it is below. `interval_seconds`: since the
    first turn that waits. `overlap` turns before a snapshot are given along.
    """

    turn_count: int | None = 20
    idle_seconds: float | None = 180.0
    topic_shift: float | None = 0.35
    overlap: int = 2
    interval_seconds: float | None = None

    @property
    def idle(self) -> timedelta:
        return FLUSH if self.idle_seconds is None else timedelta(seconds=self.idle_seconds)


@dataclass(frozen=True)
class Stream:
    """What a call says of the session that it records turns in.

    `sets_rule`: the session's own triggers are `rule` from now on, None the policy's again. `options` are said for
    the turns that wait, as they were sent; `metadata` is what they hold of it.
    """

    sets_rule: bool = False
    rule: PromotionTriggers | None = None
    force_flush: bool = False
    options: bytes | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Backlog:
    """Where a session is: the last turn in a snapshot, the last turn, and whether a job for its idle time waits.

    `cosine` is that of the newest turn with the mean of those before it that are in no snapshot. `rule` are the
    session's own triggers, None the policy's; `options` what was said for its next snapshot, as it was sent.
    `first_waiting_time` is None where it is not known, and no earlier than the last activity.
    """

    promoted_seq: int
    last_seq: int
    is_pending: bool
    last_activity_time: datetime
    cosine: float | None = None
    rule: PromotionTriggers | None = None
    options: bytes | None = None
    first_waiting_time: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self.last_seq <= self.promoted_seq


@dataclass(frozen=True)
class Promotion:
    """Every turn up to `through_seq` goes into snapshots."""

    through_seq: int
    cause: PromotionCause


def promotion_due(triggers: PromotionTriggers, backlog: Backlog, first_new_seq: int) -> Promotion | None:
    """What the newest turns, from `first_new_seq` on, make due. A turn that shifts the topic begins the next one."""
    waiting = backlog.last_seq - backlog.promoted_seq
    if triggers.turn_count is not None and waiting >= triggers.turn_count:
        return Promotion(backlog.last_seq, PromotionCause.TURN_COUNT)
    before = first_new_seq - 1
    if (
        triggers.topic_shift is not None
        and backlog.cosine is not None
        and backlog.cosine < triggers.topic_shift
        and before - backlog.promoted_seq >= LEAST_TOPIC_TURNS
    ):
        return Promotion(before, PromotionCause.TOPIC_SHIFT)
    return None


def time_due(triggers: PromotionTriggers, backlog: Backlog) -> datetime:
    """When what waits becomes a snapshot if nothing more comes."""
    last = backlog.last_activity_time
    if triggers.interval_seconds is None:
        return last + min(triggers.idle, FLUSH)
    first = backlog.first_waiting_time or last
    return min(first + timedelta(seconds=triggers.interval_seconds), last + FLUSH)


def split_runs(promoted_seq: int, through_seq: int) -> list[tuple[int, int]]:
    """The turns behind `promoted_seq` as runs (first, last) without gap or overlap."""
    firsts = range(promoted_seq + 1, through_seq + 1, MOST_SNAPSHOT_TURNS)
    return [(first, min(first + MOST_SNAPSHOT_TURNS - 1, through_seq)) for first in firsts]
