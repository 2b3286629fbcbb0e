"""THE table of the rpc edge: reason -> status code; and a domain error as a status with its details."""

import math
from collections.abc import Mapping

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, QuotaFailure, RetryInfo
from google.rpc.status_pb2 import Status

from ricordo.v1 import error_reason_pb2, item_error_pb2
from ricordo_server.domain.errors import DomainError, Reason

DOMAIN = "ricordo"
Code = grpc.StatusCode

CODE_BY_REASON: Mapping[Reason, grpc.StatusCode] = {
    Reason.MALFORMED_REQUEST: Code.INVALID_ARGUMENT,
    Reason.INVALID_FIELD: Code.INVALID_ARGUMENT,
    Reason.LIMIT_EXCEEDED: Code.INVALID_ARGUMENT,
    Reason.INVALID_FILTER: Code.INVALID_ARGUMENT,
    Reason.EMPTY_QUERY: Code.INVALID_ARGUMENT,
    Reason.INVALID_EMBEDDING: Code.INVALID_ARGUMENT,
    Reason.INVALID_PAGE_TOKEN: Code.INVALID_ARGUMENT,
    Reason.SCOPE_REQUIRED: Code.INVALID_ARGUMENT,
    Reason.UNKNOWN_CUSTOM_TYPE: Code.INVALID_ARGUMENT,
    Reason.STORE_NOT_FOUND: Code.NOT_FOUND,
    Reason.MEMORY_NOT_FOUND: Code.NOT_FOUND,
    Reason.REVISION_NOT_FOUND: Code.NOT_FOUND,
    Reason.SESSION_NOT_FOUND: Code.NOT_FOUND,
    Reason.TURN_NOT_FOUND: Code.NOT_FOUND,
    Reason.PROJECT_NOT_FOUND: Code.NOT_FOUND,
    Reason.ORGANIZATION_NOT_FOUND: Code.NOT_FOUND,
    Reason.SERVICE_ACCOUNT_NOT_FOUND: Code.NOT_FOUND,
    Reason.FAILURE_NOT_FOUND: Code.NOT_FOUND,
    Reason.EMBEDDING_MODEL_NOT_FOUND: Code.NOT_FOUND,
    Reason.OPERATION_NOT_FOUND: Code.NOT_FOUND,
    Reason.PIPELINE_NOT_FOUND: Code.NOT_FOUND,
    Reason.PIPELINE_RUN_NOT_FOUND: Code.NOT_FOUND,
    Reason.PIPELINE_TAKEN: Code.ALREADY_EXISTS,
    Reason.PIPELINE_RUNNING: Code.ABORTED,
    Reason.KEY_TAKEN: Code.ALREADY_EXISTS,
    Reason.ID_TAKEN: Code.ALREADY_EXISTS,
    Reason.REQUEST_ID_REUSED: Code.FAILED_PRECONDITION,
    Reason.STORE_NOT_EMPTY: Code.FAILED_PRECONDITION,
    Reason.METADATA_TYPE_CONFLICT: Code.FAILED_PRECONDITION,
    Reason.CUSTOM_TYPE_NOT_EMPTY: Code.FAILED_PRECONDITION,
    Reason.EXTRACTION_FAILED: Code.FAILED_PRECONDITION,
    Reason.REVISION_NOT_LIVE: Code.FAILED_PRECONDITION,
    Reason.TEMPLATE_FAILED: Code.FAILED_PRECONDITION,
    Reason.EMBEDDING_MODEL_NOT_READY: Code.FAILED_PRECONDITION,
    Reason.EMBEDDING_MODEL_IN_USE: Code.FAILED_PRECONDITION,
    Reason.REVISION_MISMATCH: Code.ABORTED,
    Reason.WRITE_CONFLICT: Code.ABORTED,
    Reason.EMBEDDER_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.EXTRACTOR_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.ALL_SOURCES_FAILED: Code.UNAVAILABLE,
    Reason.DATABASE_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.ISSUER_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.NO_SIGNING_KEY: Code.FAILED_PRECONDITION,
    Reason.TOO_MANY_REQUESTS: Code.RESOURCE_EXHAUSTED,
    Reason.RATE_LIMIT_EXCEEDED: Code.RESOURCE_EXHAUSTED,
    Reason.QUOTA_EXCEEDED: Code.RESOURCE_EXHAUSTED,
    Reason.DEADLINE_EXCEEDED: Code.DEADLINE_EXCEEDED,
    Reason.OPERATION_CANCELLED: Code.CANCELLED,
    Reason.UNAUTHENTICATED: Code.UNAUTHENTICATED,
    Reason.PERMISSION_DENIED: Code.PERMISSION_DENIED,
    Reason.INTERNAL: Code.INTERNAL,
}

# Seconds after which the same call may well succeed.
RETRY_DELAY: Mapping[Reason, float] = {
    Reason.TOO_MANY_REQUESTS: 0.5,
    # The hourly sweep makes room where something has expired.
    Reason.QUOTA_EXCEEDED: 3600.0,
    Reason.DATABASE_UNAVAILABLE: 1.0,
    Reason.ISSUER_UNAVAILABLE: 5.0,
    Reason.EMBEDDER_UNAVAILABLE: 5.0,
    Reason.EXTRACTOR_UNAVAILABLE: 5.0,
    Reason.WRITE_CONFLICT: 0.1,
}


# A client refuses headers over 8 KiB (and drops the connection over 16), where the message stands three times and
# grows threefold when it is not ASCII: what a caller's own text has blown up is cut.
MAX_MESSAGE_BYTES = 1_000
MAX_DETAIL_BYTES = 300


def _shortened(text: str, limit: int = MAX_DETAIL_BYTES) -> str:
    encoded = text.encode()
    return text if len(encoded) <= limit else encoded[:limit].decode(errors="ignore") + "..."


def to_status(error: DomainError, trace_id: str) -> Status:
    """The status with ErrorInfo, and BadRequest, QuotaFailure and RetryInfo where they fit."""
    message = _shortened(error.message, MAX_MESSAGE_BYTES)
    metadata = {key: _shortened(value) for key, value in (error.metadata or {}).items()}
    info = ErrorInfo(reason=error.reason, domain=DOMAIN, metadata={**metadata, "trace_id": trace_id})
    status = Status(code=CODE_BY_REASON[error.reason].value[0], message=message)
    status.details.append(_packed(info))
    if error.field:
        violation = BadRequest.FieldViolation(
            field=_shortened(error.field), description=message, reason=error.reason
        )
        status.details.append(_packed(BadRequest(field_violations=[violation])))
    if "limit_name" in metadata:
        exceeded = QuotaFailure.Violation(subject=metadata["limit_name"], description=message)
        status.details.append(_packed(QuotaFailure(violations=[exceeded])))
    wait = RETRY_DELAY.get(error.reason) if error.retry_after is None else error.retry_after
    if wait is not None:
        delay = Duration()
        delay.FromMilliseconds(math.ceil(wait * 1000))
        status.details.append(_packed(RetryInfo(retry_delay=delay)))
    return status


def _packed(message: ErrorInfo | BadRequest | QuotaFailure | RetryInfo) -> Any:
    packed = Any()
    packed.Pack(message)
    return packed


def to_item_error(error: DomainError) -> item_error_pb2.ItemError:
    return item_error_pb2.ItemError(
        code=CODE_BY_REASON[error.reason].value[0],
        reason=error_reason_pb2.ErrorReason.Value(f"ERROR_REASON_{error.reason}"),
        field=_shortened(error.field),
        message=_shortened(error.message, MAX_MESSAGE_BYTES),
    )
