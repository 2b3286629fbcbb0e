"""What can go wrong: a tree of exceptions, each transport error with the server's reason.

Two families. `MemoryClientError` and `MemoryIdentityError` are `ValueError`s, raised before any request is
sent (`MemoryNotSupportedError` also where only the server can tell).
`MemoryAPIError` is an answer of the server, or its absence; its `reason` names the cause
(`ricordo.v1.error_reason_pb2.ErrorReason`, without the prefix).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar


class RicordoError(Exception):
    """Every error of this package. `reason` names the cause for programs, and stays the same."""

    reason: str = ""


class MemoryClientError(ValueError, RicordoError):
    """The call makes no sense as it is: nothing was sent.

    `reason` is "INVALID_FIELD" (an argument at fault), "INVALID_FILTER", "CLIENT_CLOSED" or "WRONG_EVENT_LOOP".
    """

    def __init__(self, message: str = "", *, reason: str = "INVALID_FIELD") -> None:
        super().__init__(message)
        self.reason = reason


class MemoryNotSupportedError(MemoryClientError):
    """The operation or option is not offered here, and no repeat will change that.

    Raised before a request where that is known, else when the server says so: it knows the call, but is not set up
    for it. An outage is not that: it is a `ServiceUnavailableError`. `reason` is the server's, else "NOT_SUPPORTED".
    """

    def __init__(self, message: str = "", *, reason: str = "NOT_SUPPORTED") -> None:
        super().__init__(message, reason=reason)


class MemoryIdentityError(ValueError, RicordoError):
    """The call needs a user or a session, and nobody names one: nothing was sent. `reason` is "SCOPE_REQUIRED"."""

    reason = "SCOPE_REQUIRED"


@dataclass(frozen=True)
class FieldViolation:
    """A field of the request at fault, and what to do."""

    field: str
    description: str


@dataclass(frozen=True)
class Failure:
    """Everything that is known about a failed call."""

    code: str
    message: str
    reason: str = ""
    field_violations: tuple[FieldViolation, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    retry_delay: timedelta | None = None


class MemoryAPIError(RicordoError):
    """A call failed.

    Attributes:
        code: The gRPC status, for example "NOT_FOUND". message: What is wrong and what to do. reason: The
        server's reason, for example "MEMORY_NOT_FOUND"; the gRPC status when the answer did not come from the server.
        field_violations: The fields at fault. metadata: What the reason's comment in error_reason.proto
        promises, for example "limit" and "actual". retry_delay: How long to wait before the next attempt,
        when the server said so. retryable: Whether the same call can succeed later.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.code = failure.code
        self.message = failure.message
        self.reason = failure.reason or failure.code
        self.field_violations = failure.field_violations
        self.metadata = failure.metadata
        self.retry_delay = failure.retry_delay

    @property
    def trace_id(self) -> str:
        """The id of the call in the server's log; "" when the answer did not come from the server."""
        return self.metadata.get("trace_id", "")

    def __str__(self) -> str:
        lines = [f"{self.reason}: {self.message}"]
        lines += [
            f"  {violation.field}: {violation.description}"
            for violation in self.field_violations
            if violation.description != self.message
        ]
        return "\n".join(lines)


class MemoryAuthError(MemoryAPIError):
    """The credential is missing, not accepted, or may not do this."""


class MemoryBadRequestError(MemoryAPIError):
    """The server refuses the call as it is."""


class InvalidFilterError(MemoryBadRequestError):
    """The filter names an unknown field or uses a wrong type; `metadata["accepted"]` lists the right ones."""


class NotFoundError(MemoryBadRequestError):
    """There is no such thing, or none that this credential may see."""


class MemoryNotProvisionedError(NotFoundError):
    """The store or the project is not there (yet): make it first."""


class AlreadyExistsError(MemoryBadRequestError):
    """The key or the id is taken; `memories.put` writes over a key."""


class RevisionMismatchError(MemoryBadRequestError):
    """The memory has moved on: read it again. `metadata` holds "expected" and "actual"."""


class RequestIdReusedError(MemoryBadRequestError):
    """The request id was used with another payload within 24 hours."""


class StoreNotEmptyError(MemoryBadRequestError):
    """The store holds memories or sessions: delete them, or pass `force`."""


class MetadataTypeConflictError(MemoryBadRequestError):
    """Stored values have another type than is declared: `metadata` holds "key", "value_type", "count", "store_id"."""


class CustomTypeNotEmptyError(MemoryBadRequestError):
    """The custom type has memories: delete them, or pass `force`. `metadata` holds "custom_type" and "count"."""


class EmbeddingModelNotReadyError(MemoryBadRequestError):
    """To switch to the model would lose rows to semantic search, or it is not prepared: `metadata["missing"]`."""


class EmbeddingModelInUseError(MemoryBadRequestError):
    """The active model cannot be dropped, and beside it there is room for one: `metadata["model"]` is in the way."""


class UnknownCustomTypeError(MemoryBadRequestError):
    """The project declares its custom types, and this is none of them; `metadata["declared"]` lists them."""


class MemoryRouteNotFoundError(MemoryBadRequestError):
    """The server does not know the call: it is older than this client, or no Ricordo."""


class TooManyRequestsError(MemoryAPIError):
    """The server is at its bound of concurrent calls: wait for `retry_delay`."""

    retryable = True


class RateLimitError(TooManyRequestsError):
    """The project is at a limit of requests or tokens, `metadata["limit_name"]`: wait for `retry_delay`."""


class QuotaExceededError(MemoryBadRequestError):
    """The project would hold more than it may, by `metadata["limit_name"]`: purge, or ask the operator for more.

    `retry_delay` is when what has expired will have been swept; where nothing expires, waiting does not help.
    """


class OperationCancelledError(MemoryAPIError):
    """The operation was cancelled, and has no result."""


class WriteConflictError(MemoryAPIError):
    """Concurrent writers collided more often than the server retries."""

    retryable = True


class MemoryServerError(MemoryAPIError):
    """A fault of the server; give the `trace_id` to its operator."""


class ServiceUnavailableError(MemoryServerError):
    """The server answers, but something it needs (database, embedding model) does not."""

    retryable = True


class MemoryConnectionError(MemoryAPIError):
    """No answer came from the server."""

    retryable = True


class TransportSecurityError(MemoryConnectionError):
    """The two sides do not agree on TLS or on a certificate; the message says what to change."""

    retryable = False


class DeadlineExceededError(MemoryConnectionError):
    """The call took longer than its `timeout`; nothing is half-written."""
