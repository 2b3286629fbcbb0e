"""Operations: requests and replies."""

import grpc

from ricordo import models
from ricordo._convert import enums, generation, paging, scopes, values
from ricordo._convert.failures import exception_class
from ricordo._convert.sendable import sendable
from ricordo._convert.snapshots import decode_failure_class
from ricordo.errors import Failure, FieldViolation, MemoryAPIError
from ricordo.v1 import error_reason_pb2, operation_pb2
from ricordo.v1 import operation_service_pb2 as pb

CODES = {code.value[0]: code.name for code in grpc.StatusCode}


@sendable
def get_operation_request(operation_id: str, *, store: str | None) -> pb.GetOperationRequest:
    """Asks for an operation."""
    return pb.GetOperationRequest(store_id=store or "", operation_id=operation_id)


@sendable
def wait_operation_request(operation_id: str, *, store: str | None) -> pb.WaitOperationRequest:
    """Asks for an operation when it is over."""
    return pb.WaitOperationRequest(store_id=store or "", operation_id=operation_id)


@sendable
def list_operations_request(
    *, scope: models.ScopeFilter | None, page_size: int | None, store: str | None
) -> pb.ListOperationsRequest:
    """Asks for a page of operations."""
    return pb.ListOperationsRequest(
        store_id=store or "", scope=scopes.encode_scope_filter(scope), page_size=page_size
    )


@sendable
def cancel_operation_request(
    operation_id: str, *, store: str | None, request_id: str | None
) -> pb.CancelOperationRequest:
    """Asks to end an operation."""
    return pb.CancelOperationRequest(
        store_id=store or "", operation_id=operation_id, request_id=paging.fresh(request_id)
    )


def decode_operation(operation: operation_pb2.Operation) -> models.Operation:
    """Decodes an operation."""
    return models.Operation(
        operation_id=operation.operation_id,
        store_id=operation.store_id,
        kind=enums.OPERATION_KIND.decode(operation.kind),
        scope=scopes.decode_scope(operation.scope),
        done=operation.done,
        error=_decode_error(operation.error) if operation.HasField("error") else None,
        generation=generation.decode_generation(operation.generation)
        if operation.HasField("generation")
        else None,
        failed_attempts=operation.failed_attempts,
        failure_class=decode_failure_class(operation.failure_class),
        create_time=values.decode_time(operation.create_time),
        end_time=values.decode_time(operation.end_time) if operation.HasField("end_time") else None,
    )


def _decode_error(error: operation_pb2.OperationError) -> models.OperationError:
    name = error_reason_pb2.ErrorReason.Name(error.reason)
    return models.OperationError(
        code=CODES.get(error.code, "UNKNOWN"),
        reason=name.removeprefix("ERROR_REASON_"),
        message=error.message,
        field=error.field,
    )


def exception_of(error: models.OperationError) -> MemoryAPIError:
    """What the call would have raised, had it waited."""
    violations = (FieldViolation(error.field, error.message),) if error.field else ()
    failure = Failure(error.code, error.message, error.reason, violations)
    return exception_class(failure)(failure)


def not_done(operation: models.Operation) -> MemoryAPIError:
    """What waiting in vain raises: the operation goes on."""
    failed = f" ({operation.failed_attempts} attempts failed)" if operation.failed_attempts else ""
    message = (
        f"the operation {operation.operation_id} is not over yet{failed}: wait longer; "
        "is a worker running (`ricordo work`)?"
    )
    failure = Failure("DEADLINE_EXCEEDED", message, "DEADLINE_EXCEEDED")
    return exception_class(failure)(failure)
