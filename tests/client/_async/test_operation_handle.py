"""The handle of an operation: asks, waits, and raises what the call would have raised."""

from typing import Any

import pytest

from ricordo import AsyncClient, AsyncOperationHandle, models
from ricordo.errors import DeadlineExceededError, MemoryBadRequestError, OperationCancelledError
from ricordo.v1 import error_reason_pb2, extraction_service_pb2, generation_pb2, operation_pb2
from ricordo.v1 import operation_service_pb2 as pb
from tests.fixtures.fake_service import FakeService

MADE = generation_pb2.GenerationResult(report=generation_pb2.GenerationReport(known_count=3))


def wire(**fields: Any) -> operation_pb2.Operation:
    kind = operation_pb2.OPERATION_KIND_GENERATE_MEMORIES
    return operation_pb2.Operation(operation_id="o1", store_id="notes", kind=kind, **fields)


async def start(client: AsyncClient, fake: FakeService) -> AsyncOperationHandle[models.Generation]:
    fake.answer("GenerateMemories", extraction_service_pb2.GenerateMemoriesResponse(operation=wire()))
    return await client.extraction.generate(facts=["a"], scope=models.Scope(user_id="ada"), wait=False)


async def test_a_call_that_does_not_wait_says_so(client: AsyncClient, fake: FakeService) -> None:
    handle = await start(client, fake)
    assert (handle.operation_id, fake.calls[0].request.in_background) == ("o1", True)


async def test_it_is_asked_about_in_its_store_until_it_is_done(
    client: AsyncClient, fake: FakeService
) -> None:
    handle = await start(client, fake)
    fake.answer("GetOperation", pb.GetOperationResponse(operation=wire()))
    assert not await handle.done()
    fake.answer("GetOperation", pb.GetOperationResponse(operation=wire(done=True, generation=MADE)))
    assert await handle.done()
    asked = len(fake.calls)
    assert await handle.done()
    assert (len(fake.calls), fake.calls[-1].request.store_id) == (asked, "notes")


async def test_its_result_is_waited_for(client: AsyncClient, fake: FakeService) -> None:
    handle = await start(client, fake)
    fake.answer("WaitOperation", pb.WaitOperationResponse(operation=wire(done=True, generation=MADE)))
    assert (await handle.result()).known == 3


async def test_waiting_in_vain_raises_and_the_operation_goes_on(
    client: AsyncClient, fake: FakeService
) -> None:
    handle = await start(client, fake)
    fake.answer("WaitOperation", pb.WaitOperationResponse(operation=wire(failed_attempts=2)))
    with pytest.raises(DeadlineExceededError, match="2 attempts failed"):
        await handle.result(timeout=0)
    assert not handle.operation.done


async def test_what_failed_raises_what_the_call_would_have_raised(
    client: AsyncClient, fake: FakeService
) -> None:
    handle = await start(client, fake)
    reason = error_reason_pb2.ERROR_REASON_INVALID_FIELD
    error = operation_pb2.OperationError(code=3, reason=reason, field="metadata", message="another type")
    fake.answer("WaitOperation", pb.WaitOperationResponse(operation=wire(done=True, error=error)))
    with pytest.raises(MemoryBadRequestError, match="INVALID_FIELD: another type") as raised:
        await handle.result()
    assert raised.value.field_violations[0].field == "metadata"


async def test_what_was_cancelled_has_no_result(client: AsyncClient, fake: FakeService) -> None:
    handle = await start(client, fake)
    reason = error_reason_pb2.ERROR_REASON_OPERATION_CANCELLED
    error = operation_pb2.OperationError(code=1, reason=reason, message="it was cancelled")
    fake.answer("CancelOperation", pb.CancelOperationResponse(operation=wire(done=True, error=error)))
    assert (await handle.cancel()).done
    with pytest.raises(OperationCancelledError):
        await handle.result()
