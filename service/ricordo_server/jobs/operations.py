"""Operations: what each kind does. What was asked for is a message of the contract, which `rpc` decodes."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ricordo_server.app import generation, operations
from ricordo_server.app.operations import OperationEnded
from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.failure import StepError
from ricordo_server.jobs.kind import Failure, JobKind
from ricordo_server.rpc.convert.generation import decode_kept_request

# Four kinds of 500 turns, read by a model on a small machine.
RUN_SECONDS = 1_200.0


async def run_operation(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    store_id, operation_id = arguments["store_id"], arguments["operation_id"]
    with suppress(OperationEnded):
        await generation.run_generation(services, call, store_id, operation_id, decode_kept_request)


async def note_failed(services: Services, call: Call, arguments: Mapping[str, Any], failure: Failure) -> None:
    error = explain(failure.cause) if failure.is_final else None
    store_id, operation_id = arguments["store_id"], arguments["operation_id"]
    await operations.note_failure(services, call, store_id, operation_id, failure.failure_class, error)


def explain(cause: Exception | None) -> DomainError:
    """What a caller is told of an operation that is given up."""
    match cause:
        case StepError():
            return generation.as_refusal(cause)
        case DomainError():
            return cause
        case TimeoutError():
            message = f"it took longer than {RUN_SECONDS:.0f} seconds each time: ask for less at once"
            return DomainError(Reason.DEADLINE_EXCEEDED, message)
        case _:
            message = (
                "the server failed at it again and again: its operator finds why in the log of the worker"
            )
            return DomainError(Reason.INTERNAL, message)


KINDS = (JobKind(operations.RUN_OPERATION, run_operation, seconds=RUN_SECONDS, on_failure=note_failed),)
