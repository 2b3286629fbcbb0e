"""Failed calls to exceptions: by the server's reason, else by the status code."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from ricordo import errors
from ricordo._convert.tls_faults import find_tls_hint, find_tls_remedy
from ricordo.errors import Failure, FieldViolation, MemoryAPIError, MemoryNotSupportedError

DOMAIN = "ricordo"

BY_REASON: dict[str, type[MemoryAPIError]] = {
    "INVALID_FILTER": errors.InvalidFilterError,
    "OPERATION_CANCELLED": errors.OperationCancelledError,
    "ORGANIZATION_NOT_FOUND": errors.MemoryNotProvisionedError,
    "PROJECT_NOT_FOUND": errors.MemoryNotProvisionedError,
    "QUOTA_EXCEEDED": errors.QuotaExceededError,
    "RATE_LIMIT_EXCEEDED": errors.RateLimitError,
    "REQUEST_ID_REUSED": errors.RequestIdReusedError,
    "REVISION_MISMATCH": errors.RevisionMismatchError,
    "STORE_NOT_EMPTY": errors.StoreNotEmptyError,
    "STORE_NOT_FOUND": errors.MemoryNotProvisionedError,
    "METADATA_TYPE_CONFLICT": errors.MetadataTypeConflictError,
    "CUSTOM_TYPE_NOT_EMPTY": errors.CustomTypeNotEmptyError,
    "EMBEDDING_MODEL_NOT_READY": errors.EmbeddingModelNotReadyError,
    "EMBEDDING_MODEL_IN_USE": errors.EmbeddingModelInUseError,
    "UNKNOWN_CUSTOM_TYPE": errors.UnknownCustomTypeError,
    "WRITE_CONFLICT": errors.WriteConflictError,
}
"""Reasons that say more than their status code."""

BY_CODE: dict[str, type[MemoryAPIError]] = {
    "UNAUTHENTICATED": errors.MemoryAuthError,
    "PERMISSION_DENIED": errors.MemoryAuthError,
    "INVALID_ARGUMENT": errors.MemoryBadRequestError,
    "FAILED_PRECONDITION": errors.MemoryBadRequestError,
    "OUT_OF_RANGE": errors.MemoryBadRequestError,
    "ABORTED": errors.MemoryBadRequestError,
    "NOT_FOUND": errors.NotFoundError,
    "ALREADY_EXISTS": errors.AlreadyExistsError,
    "UNIMPLEMENTED": errors.MemoryRouteNotFoundError,
    "RESOURCE_EXHAUSTED": errors.TooManyRequestsError,
    "UNAVAILABLE": errors.ServiceUnavailableError,
    "DEADLINE_EXCEEDED": errors.DeadlineExceededError,
}

WITHOUT_REASON: dict[str, type[MemoryAPIError]] = {
    "UNAVAILABLE": errors.MemoryConnectionError,
    "CANCELLED": errors.MemoryConnectionError,
    "RESOURCE_EXHAUSTED": errors.MemoryBadRequestError,  # a message over the size limit of the transport
}
"""What a status means when it is the transport that says it."""

HINTS: dict[str, str] = {
    "UNAVAILABLE": "is the server running there, on that port, and with the TLS that this client expects?",
    "UNIMPLEMENTED": "is it a Ricordo server, and not older than this client?",
    "DEADLINE_EXCEEDED": "the call took longer than its timeout: pass a longer one",
}

Detail = TypeVar("Detail", bound=Message)


class FailedCall(Protocol):
    """What both kinds of `grpc.RpcError` offer."""

    def code(self) -> grpc.StatusCode: ...

    def details(self) -> str | None: ...


def to_exception(
    error: FailedCall, target: str, *, tls: bool = False
) -> MemoryAPIError | MemoryNotSupportedError:
    """The exception that stands for a failed call.

    Args:
        error: A `grpc.RpcError` of either kind of channel.
        target: Where the call went, named in the message when no server answered.
        tls: Whether it went encrypted.
    """
    failure = read_failure(error, target, tls=tls)
    if not failure.reason and (remedy := find_tls_remedy(error.details() or "")):
        return errors.TransportSecurityError(Failure(failure.code, f"{target}: {remedy}"))
    if failure.code == "UNIMPLEMENTED" and failure.reason:
        return MemoryNotSupportedError(
            f"{target} is not set up for this: {failure.reason}: {failure.message}", reason=failure.reason
        )
    return exception_class(failure)(failure)


def is_unauthenticated(error: FailedCall) -> bool:
    """Whether the server refused the credential."""
    return error.code() is grpc.StatusCode.UNAUTHENTICATED


def exception_class(failure: Failure) -> type[MemoryAPIError]:
    """The class by the server's reason, else by the status code."""
    by_code = BY_CODE.get(failure.code, errors.MemoryServerError)
    if failure.reason:
        return BY_REASON.get(failure.reason, by_code)
    return WITHOUT_REASON.get(failure.code, by_code)


def read_failure(error: FailedCall, target: str, *, tls: bool = False) -> Failure:
    """Everything that a failed call tells."""
    code = error.code().name
    details = _details(error)
    info = next(
        (info for info in _unpack(details, error_details_pb2.ErrorInfo) if info.domain == DOMAIN), None
    )
    if info is None:
        message = _transport_message(code, error.details() or "no details", target, tls=tls)
        return Failure(code=code, message=message)
    retry = next(iter(_unpack(details, error_details_pb2.RetryInfo)), None)
    return Failure(
        code=code,
        message=error.details() or "",
        reason=info.reason,
        field_violations=tuple(_violations(details)),
        metadata=dict(info.metadata),
        retry_delay=None if retry is None else _delay(retry),
    )


def _transport_message(code: str, details: str, target: str, *, tls: bool) -> str:
    hint = find_tls_hint(details, tls=tls) or HINTS.get(code)
    return f"{target}: {details}" + (f" ({hint})" if hint else "")


def _details(error: FailedCall) -> status_pb2.Status:
    """The error details, or none where something between client and server tampered with them."""
    try:
        return rpc_status.from_call(error) or status_pb2.Status()
    except ValueError:
        return status_pb2.Status()


def _unpack(status: status_pb2.Status, kind: type[Detail]) -> Iterable[Detail]:
    for packed in status.details:
        detail = kind()
        if packed.Unpack(detail):
            yield detail


def _violations(status: status_pb2.Status) -> Iterable[FieldViolation]:
    for request in _unpack(status, error_details_pb2.BadRequest):
        for violation in request.field_violations:
            yield FieldViolation(field=violation.field, description=violation.description)


def _delay(retry: error_details_pb2.RetryInfo) -> timedelta:
    return timedelta(seconds=retry.retry_delay.seconds, microseconds=retry.retry_delay.nanos // 1000)
