"""When turns become a snapshot, and how runs are cut."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.promotion import (
    FLUSH,
    MOST_SNAPSHOT_TURNS,
    Backlog,
    Promotion,
    PromotionTriggers,
    promotion_due,
    split_runs,
)
from ricordo_server.domain.snapshot import PromotionCause

NOW = datetime(2026, 1, 31, tzinfo=UTC)
TRIGGERS = PromotionTriggers(turn_count=10, topic_shift=0.35)


def backlog(promoted: int, last: int, cosine: float | None = None) -> Backlog:
    return Backlog(promoted, last, is_pending=False, last_activity_time=NOW, cosine=cosine)


@pytest.mark.parametrize(
    ("state", "first_new", "expected"),
    [
        (backlog(0, 9), 9, None),
        (backlog(0, 10), 10, Promotion(10, PromotionCause.TURN_COUNT)),
        (backlog(90, 100), 100, Promotion(100, PromotionCause.TURN_COUNT)),
        (backlog(0, 5, 0.34), 5, Promotion(4, PromotionCause.TOPIC_SHIFT)),
        (backlog(0, 5, 0.36), 5, None),
        (backlog(0, 4, 0.0), 4, None),
        (backlog(0, 10, 0.0), 10, Promotion(10, PromotionCause.TURN_COUNT)),
    ],
)
def test_whatever_comes_first(state: Backlog, first_new: int, expected: Promotion | None) -> None:
    assert promotion_due(TRIGGERS, state, first_new) == expected


def test_triggers_can_be_off() -> None:
    off = PromotionTriggers(turn_count=None, topic_shift=None, idle_seconds=None)
    assert promotion_due(off, backlog(0, 10_000, -1.0), 10_000) is None
    assert off.idle == FLUSH


def test_idle_time_is_in_seconds() -> None:
    assert PromotionTriggers(idle_seconds=90).idle == timedelta(seconds=90)


@given(st.integers(0, 10_000), st.integers(0, 2_000))
def test_each_turn_is_in_exactly_one_run(promoted: int, waiting: int) -> None:
    runs = split_runs(promoted, promoted + waiting)
    numbers = [number for first, last in runs for number in range(first, last + 1)]
    assert numbers == list(range(promoted + 1, promoted + waiting + 1))
    assert all(last - first < MOST_SNAPSHOT_TURNS for first, last in runs)
