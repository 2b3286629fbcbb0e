"""When a failed step is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.failure import (
    LONGEST_TOLD_PAUSE,
    POLICIES,
    FailureClass,
    StepError,
    classify,
    pause_before_retry,
)

RETRIED = sorted(POLICIES)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (StepError(FailureClass.CREDENTIAL, "x"), FailureClass.CREDENTIAL),
        (DomainError(Reason.DATABASE_UNAVAILABLE, "x"), FailureClass.TRANSIENT),
        (DomainError(Reason.RATE_LIMIT_EXCEEDED, "x"), FailureClass.RATE_LIMIT),
        (DomainError(Reason.INVALID_FIELD, "x"), FailureClass.CONTENT),
        (TimeoutError(), FailureClass.TRANSIENT),
        (ZeroDivisionError(), FailureClass.TRANSIENT),
    ],
)
def test_a_failure_has_its_class(failure: BaseException, expected: FailureClass) -> None:
    assert classify(failure) is expected


def test_content_is_not_tried_again() -> None:
    assert pause_before_retry(StepError(FailureClass.CONTENT, "x"), 1, chance=0) is None


@given(st.sampled_from(RETRIED), st.integers(1, 200), st.floats(0, 1))
def test_attempts_are_bounded_and_paced(failure_class: FailureClass, attempts: int, chance: float) -> None:
    policy = POLICIES[failure_class]
    pause = pause_before_retry(StepError(failure_class, "x"), attempts, chance=chance)
    if attempts >= policy.attempts:
        assert pause is None
    else:
        assert pause is not None
        assert policy.first_pause / 2 <= pause <= policy.longest_pause


@given(st.sampled_from(RETRIED), st.integers(1, 40))
def test_pauses_never_shrink(failure_class: FailureClass, attempts: int) -> None:
    failure = StepError(failure_class, "x")
    first, second = (pause_before_retry(failure, number, chance=0) for number in (attempts, attempts + 1))
    assert first is not None
    assert second is not None
    assert first <= second


@given(st.floats(-10, 1e9), st.floats(0, 1))
def test_a_told_pause_is_kept_within_the_hour(told: float, chance: float) -> None:
    failure = StepError(FailureClass.RATE_LIMIT, "x", retry_after=told)
    pause = pause_before_retry(failure, 1, chance=chance)
    assert pause is not None
    least = min(max(told, 0), LONGEST_TOLD_PAUSE)
    assert least <= pause <= least + POLICIES[FailureClass.RATE_LIMIT].first_pause


@given(st.floats(0, 86_400), st.floats(0, 1))
def test_a_limit_of_our_own_is_waited_for_until_it_lifts(told: float, chance: float) -> None:
    pause = pause_before_retry(
        DomainError(Reason.RATE_LIMIT_EXCEEDED, "x", retry_after=told), 1, chance=chance
    )
    assert pause is not None
    assert told <= pause <= told + POLICIES[FailureClass.RATE_LIMIT].first_pause
