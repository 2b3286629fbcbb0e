"""What the SDK raises, as the class of failure that says when to try again."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from openai import APIConnectionError, APIStatusError, OpenAIError

from ricordo_server.domain.failure import FailureClass, StepError

_CREDENTIAL = frozenset({401, 403})
_TRANSIENT = frozenset({408, 409, 425})
_RATE_LIMIT = 429


def translate(error: OpenAIError) -> StepError:
    """The provider's own message stays out: it may quote a turn."""
    if isinstance(error, APIStatusError):
        message = f"the extraction endpoint answered HTTP {error.status_code}"
        return StepError(_class_of(error.status_code), message, retry_after=_retry_after(error))
    lost = isinstance(error, APIConnectionError)
    failure_class = FailureClass.TRANSIENT if lost else FailureClass.CONTENT
    return StepError(failure_class, f"the extraction endpoint failed: {type(error).__name__}")


def _class_of(status: int) -> FailureClass:
    if status == _RATE_LIMIT:
        return FailureClass.RATE_LIMIT
    if status in _CREDENTIAL:
        return FailureClass.CREDENTIAL
    return FailureClass.TRANSIENT if status in _TRANSIENT or status >= 500 else FailureClass.CONTENT


def _retry_after(error: APIStatusError) -> float | None:
    """Seconds from the header: milliseconds of their own, seconds, or a date."""
    headers = error.response.headers
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    if (seconds := _number(given)) is not None:
        return seconds
    return _seconds_until(given) if given else None


def _number(text: str | None) -> float | None:
    try:
        return max(float(text), 0.0) if text else None
    except ValueError:
        return None


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((aware - datetime.now(UTC)).total_seconds(), 0.0)
