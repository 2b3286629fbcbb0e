"""Operations."""

from typing import TypeVar

from google.protobuf.message import Message

from ricordo.v1 import operation_pb2
from ricordo_server.domain.errors import DomainError
from ricordo_server.domain.operation import Operation
from ricordo_server.rpc.convert.enums import encode_enum
from ricordo_server.rpc.convert.generation import encode_result
from ricordo_server.rpc.convert.scope import encode_scope
from ricordo_server.rpc.convert.snapshots import encode_failure_class
from ricordo_server.rpc.convert.times import encode_time
from ricordo_server.rpc.errors import to_item_error
from ricordo_server.rpc.pages import omit_excess

KIND = operation_pb2.OperationKind.DESCRIPTOR
Answer = TypeVar("Answer", bound=Message)


def encode_operation(operation: Operation) -> operation_pb2.Operation:
    return operation_pb2.Operation(
        operation_id=operation.operation_id,
        store_id=operation.store_id,
        kind=encode_enum(operation.kind, KIND),
        scope=encode_scope(operation.scope),
        done=operation.done,
        error=_encode_error(operation.error) if operation.error else None,
        generation=encode_result(operation.generation) if operation.generation else None,
        failed_attempts=operation.attempts,
        failure_class=encode_failure_class(operation.failure_class),
        create_time=encode_time(operation.create_time),
        end_time=encode_time(operation.end_time) if operation.end_time else None,
    )


def _encode_error(error: DomainError) -> operation_pb2.OperationError:
    told = to_item_error(error)
    return operation_pb2.OperationError(
        code=told.code, reason=told.reason, field=told.field, message=told.message
    )


def encode_answer(answer_type: type[Answer], operation: Operation) -> Answer:
    """The operation as an answer of its own, within the size of one."""
    answer = answer_type(operation=encode_operation(operation))
    omit_excess(answer, answer.operation.generation.memories)  # type: ignore[attr-defined] # every one has an operation
    return answer
