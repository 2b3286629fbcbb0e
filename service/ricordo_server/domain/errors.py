"""What can go wrong, in the domain's own words. `rpc.errors` gives each reason its status code."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto


class Reason(StrEnum):
    """The values of `ErrorReason` in the contract, without their prefix; a test holds the two together."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name

    MALFORMED_REQUEST = auto()
    INVALID_FIELD = auto()
    LIMIT_EXCEEDED = auto()
    INVALID_FILTER = auto()
    EMPTY_QUERY = auto()
    INVALID_EMBEDDING = auto()
    INVALID_PAGE_TOKEN = auto()
    SCOPE_REQUIRED = auto()
    UNKNOWN_CUSTOM_TYPE = auto()
    STORE_NOT_FOUND = auto()
    MEMORY_NOT_FOUND = auto()
    REVISION_NOT_FOUND = auto()
    SESSION_NOT_FOUND = auto()
    TURN_NOT_FOUND = auto()
    PROJECT_NOT_FOUND = auto()
    ORGANIZATION_NOT_FOUND = auto()
    SERVICE_ACCOUNT_NOT_FOUND = auto()
    FAILURE_NOT_FOUND = auto()
    EMBEDDING_MODEL_NOT_FOUND = auto()
    OPERATION_NOT_FOUND = auto()
    PIPELINE_NOT_FOUND = auto()
    PIPELINE_RUN_NOT_FOUND = auto()
    PIPELINE_TAKEN = auto()
    PIPELINE_RUNNING = auto()
    KEY_TAKEN = auto()
    ID_TAKEN = auto()
    REQUEST_ID_REUSED = auto()
    REVISION_MISMATCH = auto()
    STORE_NOT_EMPTY = auto()
    METADATA_TYPE_CONFLICT = auto()
    CUSTOM_TYPE_NOT_EMPTY = auto()
    EXTRACTION_FAILED = auto()
    REVISION_NOT_LIVE = auto()
    TEMPLATE_FAILED = auto()
    EMBEDDING_MODEL_NOT_READY = auto()
    EMBEDDING_MODEL_IN_USE = auto()
    EMBEDDER_UNAVAILABLE = auto()
    ALL_SOURCES_FAILED = auto()
    DATABASE_UNAVAILABLE = auto()
    TOO_MANY_REQUESTS = auto()
    ISSUER_UNAVAILABLE = auto()
    NO_SIGNING_KEY = auto()
    RATE_LIMIT_EXCEEDED = auto()
    QUOTA_EXCEEDED = auto()
    DEADLINE_EXCEEDED = auto()
    WRITE_CONFLICT = auto()
    EXTRACTOR_UNAVAILABLE = auto()
    OPERATION_CANCELLED = auto()
    UNAUTHENTICATED = auto()
    PERMISSION_DENIED = auto()
    INTERNAL = auto()


# The same call may succeed later, without a change.
RETRYABLE = frozenset(
    {
        Reason.EMBEDDER_UNAVAILABLE,
        Reason.ALL_SOURCES_FAILED,
        Reason.DATABASE_UNAVAILABLE,
        Reason.ISSUER_UNAVAILABLE,
        Reason.TOO_MANY_REQUESTS,
        Reason.RATE_LIMIT_EXCEEDED,
        Reason.DEADLINE_EXCEEDED,
        Reason.WRITE_CONFLICT,
        Reason.EXTRACTOR_UNAVAILABLE,
    }
)


@dataclass(eq=False)  # not frozen: an exception gets its traceback while it is raised
class DomainError(Exception):
    """A refusal with a reason, the field at fault (a path as in the request) and advice in the message.

    `retry_after` is in seconds, where the refusal itself knows it.
    """

    reason: Reason
    message: str
    field: str = ""
    metadata: Mapping[str, str] | None = None
    retry_after: float | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


def unauthenticated(field: str = "authorization") -> DomainError:
    """One text for every cause: who presents a credential that is not accepted learns nothing more."""
    message = (
        "no credential, or none that this server accepts: get a new token, or look at the client's secret"
    )
    return DomainError(Reason.UNAUTHENTICATED, message, field)


def invalid_field(field: str, message: str) -> DomainError:
    return DomainError(Reason.INVALID_FIELD, message, field)


def over_limit(field: str, what: str, limit: int, actual: int) -> DomainError:
    """`what` names the unit: "bytes", "items", "keys"."""
    message = f"{field} has {actual} {what}, the limit is {limit}: send less"
    return DomainError(Reason.LIMIT_EXCEEDED, message, field, {"limit": str(limit), "actual": str(actual)})


def invalid_filter(message: str, accepted: str, field: str = "filter") -> DomainError:
    return DomainError(
        Reason.INVALID_FILTER, f"{message}; accepted: {accepted}", field, {"accepted": accepted}
    )
