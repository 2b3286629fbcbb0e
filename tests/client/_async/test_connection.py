import grpc
import pytest

from ricordo import AsyncClient, errors, models
from ricordo.v1.memory_service_pb2 import GetMemoryResponse
from tests.fixtures.client_samples import wire_memory, wire_who_am_i
from tests.fixtures.fake_service import Delay, FakeService, Refusal


async def test_a_call_carries_the_token(fake: FakeService) -> None:
    fake.answer("WhoAmI", wire_who_am_i())
    async with AsyncClient(fake.target, token="development:p1") as client:
        await client.identity.who_am_i()
    assert fake.calls[0].metadata["authorization"] == "Bearer development:p1"


async def test_a_call_without_a_token_carries_none(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("WhoAmI", wire_who_am_i())
    await client.identity.who_am_i()
    assert "authorization" not in fake.calls[0].metadata


async def test_a_service_acts_as_a_user(fake: FakeService) -> None:
    async with AsyncClient(fake.target, token="development:p1") as client:
        await client.acting_as("änne/1").memories.delete("m1")
        await client.memories.delete("m1")
    acted, own = fake.calls
    assert acted.metadata["ricordo-act-as"] == "%C3%A4nne%2F1"
    assert acted.metadata["authorization"] == "Bearer development:p1"
    assert "ricordo-act-as" not in own.metadata
    assert acted.peer == own.peer


async def test_who_acts_must_say_as_whom(client: AsyncClient) -> None:
    with pytest.raises(errors.MemoryClientError, match="user_id"):
        client.acting_as(" ")


async def test_closing_the_acting_client_closes_both(fake: FakeService, client: AsyncClient) -> None:
    await client.acting_as("ada").close()
    with pytest.raises(errors.MemoryClientError, match="closed"):
        await client.memories.delete("m1")


@pytest.mark.parametrize(("given", "expected"), [(None, 30.0), (5.0, 5.0)])
async def test_every_call_has_a_deadline(
    fake: FakeService, client: AsyncClient, given: float | None, expected: float
) -> None:
    fake.answer("WhoAmI", wire_who_am_i())
    await client.identity.who_am_i(timeout=given)
    # gRPC rounds what it sends upward.
    assert expected - 2 < fake.calls[0].time_remaining < expected + 1


async def test_the_deadline_ends_a_slow_call(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("WhoAmI", Delay(1.0))
    with pytest.raises(errors.DeadlineExceededError):
        await client.identity.who_am_i(timeout=0.1)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True])
async def test_a_timeout_is_seconds_above_zero(
    fake: FakeService, client: AsyncClient, timeout: float
) -> None:
    with pytest.raises(errors.MemoryClientError, match="seconds, above 0"):
        await client.identity.who_am_i(timeout=timeout)
    assert fake.calls == []


async def test_a_read_is_sent_again_when_the_server_is_unavailable(
    fake: FakeService, client: AsyncClient
) -> None:
    fake.answer("WhoAmI", Refusal(grpc.StatusCode.UNAVAILABLE), wire_who_am_i())
    who = await client.identity.who_am_i()
    assert (who.principal_id, fake.methods()) == ("agent", ["WhoAmI", "WhoAmI"])


async def test_a_mutation_is_sent_again_with_the_same_request_id(
    fake: FakeService, client: AsyncClient
) -> None:
    fake.answer("DeleteMemory", Refusal(grpc.StatusCode.UNAVAILABLE))
    await client.memories.delete("m1")
    first, second = fake.calls
    assert first.request == second.request
    assert first.request.request_id


async def test_each_mutation_has_a_request_id_of_its_own(fake: FakeService, client: AsyncClient) -> None:
    await client.memories.delete("m1")
    await client.memories.delete("m1")
    await client.memories.delete("m1", request_id="mine")
    first, second, third = (call.request.request_id for call in fake.calls)
    assert first != second
    assert third == "mine"


async def test_a_refusal_is_not_sent_again(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("DeleteMemory", Refusal(grpc.StatusCode.NOT_FOUND, reason="MEMORY_NOT_FOUND"))
    with pytest.raises(errors.NotFoundError):
        await client.memories.delete("m1")
    assert fake.methods() == ["DeleteMemory"]


async def test_the_retries_end(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("WhoAmI", *[Refusal(grpc.StatusCode.UNAVAILABLE, reason="DATABASE_UNAVAILABLE")] * 9)
    with pytest.raises(errors.ServiceUnavailableError) as caught:
        await client.identity.who_am_i()
    assert (caught.value.reason, caught.value.retryable) == ("DATABASE_UNAVAILABLE", True)
    assert len(fake.calls) == 4


async def test_an_error_tells_everything_the_server_said(fake: FakeService, client: AsyncClient) -> None:
    refusal = Refusal(
        grpc.StatusCode.INVALID_ARGUMENT,
        "the label is too long",
        reason="LIMIT_EXCEEDED",
        metadata={"limit": "512", "actual": "600", "trace_id": "abc"},
        field_violations={"memory.key": "at most 512 bytes"},
        retry_seconds=2,
    )
    fake.answer("CreateMemory", refusal)
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        await client.memories.create(models.NewMemory(content="x"))
    error = caught.value
    assert (error.code, error.reason, error.trace_id) == ("INVALID_ARGUMENT", "LIMIT_EXCEEDED", "abc")
    assert error.metadata["limit"] == "512"
    assert error.retry_delay is not None
    assert error.retry_delay.total_seconds() == 2
    assert str(error) == "LIMIT_EXCEEDED: the label is too long\n  memory.key: at most 512 bytes"


async def test_no_server_names_the_target_and_the_remedy() -> None:
    async with AsyncClient("127.0.0.1:1", timeout=5) as client:
        with pytest.raises(
            errors.MemoryConnectionError, match=r"127\.0\.0\.1:1.*is the server running"
        ) as caught:
            await client.identity.who_am_i()
    assert (caught.value.reason, caught.value.code) == ("UNAVAILABLE", "UNAVAILABLE")


async def test_tls_to_a_plain_server_names_the_remedy(fake: FakeService) -> None:
    refused = pytest.raises(errors.TransportSecurityError, match="plain text: pass tls=False")
    async with AsyncClient(fake.target, tls=True, timeout=5) as client:
        with refused:
            await client.identity.who_am_i()


async def test_an_unknown_call_names_the_remedy(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("WhoAmI", Refusal(grpc.StatusCode.UNIMPLEMENTED))
    with pytest.raises(errors.MemoryRouteNotFoundError, match="not older than this client"):
        await client.identity.who_am_i()


async def test_a_closed_client_says_so(fake: FakeService) -> None:
    client = AsyncClient(fake.target)
    await client.close()
    await client.close()
    with pytest.raises(errors.MemoryClientError, match="closed"):
        await client.identity.who_am_i()


async def test_an_answer_of_four_mebibytes_arrives(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("GetMemory", GetMemoryResponse(memory=wire_memory(content="x" * (4 * 1024 * 1024 - 200))))
    memory = await client.memories.get("m1")
    assert len(memory.content) == 4 * 1024 * 1024 - 200


async def test_clients_with_local_pools_use_connections_of_their_own(fake: FakeService) -> None:
    peers = set()
    for _ in range(2):
        async with AsyncClient(fake.target, local_subchannel_pool=True) as client:
            fake.answer("WhoAmI", wire_who_am_i())
            await client.identity.who_am_i()
            peers.add(fake.calls[-1].peer)
    assert len(peers) == 2
