"""A step of background work that failed, and when it may be tried again."""

from dataclasses import dataclass
from enum import StrEnum

from ricordo_server.domain.errors import RETRYABLE, DomainError, Reason


class FailureClass(StrEnum):
    """Can the step succeed later without the request changing?"""

    TRANSIENT = "TRANSIENT"
    """Network, a provider's 5xx, a timeout."""
    RATE_LIMIT = "RATE_LIMIT"
    """The provider says when to come back, or the project's tokens of the day are used up."""
    CREDENTIAL = "CREDENTIAL"
    """Keys are rotated by people, who need minutes."""
    CONTENT = "CONTENT"
    """The same request fails for ever: it is recorded and not tried again."""
    CANCELLED = "CANCELLED"
    """Nobody wants it any more."""


class StepError(Exception):
    """A step failed in a way its caller could tell. The message holds nothing of anybody's content.

    `retry_after` is in seconds, when a provider named a time.
    """

    def __init__(
        self, failure_class: FailureClass, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.failure_class = failure_class
        self.retry_after = retry_after


@dataclass(frozen=True)
class RetryPolicy:
    """Pauses double from the first to the longest, both in seconds; after so many attempts no more are made."""

    first_pause: float
    longest_pause: float
    attempts: int


# About an hour of a provider that is away, and a working day of a key that is wrong.
POLICIES = {
    FailureClass.TRANSIENT: RetryPolicy(1, 60, 65),
    FailureClass.RATE_LIMIT: RetryPolicy(5, 60, 65),
    FailureClass.CREDENTIAL: RetryPolicy(120, 600, 50),
}
# A provider that says "tomorrow" is asked again within the hour.
LONGEST_TOLD_PAUSE = 3_600.0


def pause_before_retry(failure: BaseException, attempts: int, *, chance: float) -> float | None:
    """Seconds to wait before the next attempt; None when there is to be none.

    Args:
        failure: What ended the last attempt.
        attempts: How many were made, the last one included.
        chance: From 0 to 1: shortens the pause by up to half, so that what failed together does not return together.
    """
    policy = POLICIES.get(classify(failure))
    if policy is None or attempts >= policy.attempts:
        return None
    doubled = policy.first_pause * 2.0 ** min(attempts - 1, 32)
    pause = min(doubled, policy.longest_pause) * (1 - chance / 2)
    told = _told_pause(failure)
    return pause if told is None else told + pause * chance


def _told_pause(failure: BaseException) -> float | None:
    """Seconds. A limit of our own lifts when it says; to ask before would only use up the attempts."""
    if isinstance(failure, DomainError):
        return failure.retry_after
    told = failure.retry_after if isinstance(failure, StepError) else None
    return None if told is None else min(max(told, 0.0), LONGEST_TOLD_PAUSE)


def classify(failure: BaseException) -> FailureClass:
    """What is not known is taken for transient: attempts are bounded, and a bug may be of the moment."""
    if isinstance(failure, StepError):
        return failure.failure_class
    if isinstance(failure, DomainError) and failure.reason is Reason.RATE_LIMIT_EXCEEDED:
        return FailureClass.RATE_LIMIT
    if isinstance(failure, DomainError) and failure.reason not in RETRYABLE:
        return FailureClass.CONTENT
    return FailureClass.TRANSIENT
