"""What a project may use: set by the operator, refused beyond, and counted."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import grpc
import grpc.aio
import psycopg
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, QuotaFailure, RetryInfo
from grpc_status import rpc_status

from ricordo import AsyncClient, errors, models
from ricordo_server.app import limiter
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import Database, open_pool, tenant_transaction
from tests.fixtures.database import TestDatabase, make_project, service_principal

Limits = models.ProjectLimits


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a limit counts at the next call, and what is spent is written at once."""
    monkeypatch.setattr(limiter, "REFRESH_SECONDS", 0.0)


@pytest.fixture
async def operator(service_target: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target, token="development:operator") as client:
        yield client


@pytest.fixture
async def client(service_target: str, token: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target, token=token) as client:
        yield client


async def limit(operator: AsyncClient, project_id: UUID, **limits: int | None) -> None:
    await operator.admin.update_project_limits(str(project_id), Limits(**limits))


async def usage(operator: AsyncClient, project_id: UUID) -> models.ProjectUsage:
    return (await operator.admin.get_project_limits(str(project_id)))[1]


async def counted(operator: AsyncClient, project_id: UUID, tokens: int) -> models.ProjectUsage:
    """The usage once so many tokens are counted, or as it is after ten seconds: that is done after the answer."""
    for _ in range(200):
        used = await usage(operator, project_id)
        if used.embedding_tokens >= tokens:
            break
        await asyncio.sleep(0.05)
    return used


async def call_often(client: AsyncClient) -> None:
    for _ in range(50):
        await client.identity.who_am_i()


def fact(content: str = "Ann likes green tea", **fields: object) -> models.NewMemory:
    return models.NewMemory(content=content, **fields)


async def test_a_new_project_has_no_limits_and_has_used_nothing(
    operator: AsyncClient, project_id: UUID
) -> None:
    assert await operator.admin.get_project_limits(str(project_id)) == (Limits(), models.ProjectUsage())


async def test_limits_are_set_one_by_one_and_lifted(operator: AsyncClient, project_id: UUID) -> None:
    await limit(operator, project_id, stored_memories=3, concurrent_requests=7)
    await limit(operator, project_id, stored_memories=0)
    assert (await operator.admin.get_project_limits(str(project_id)))[0] == Limits(
        stored_memories=0, concurrent_requests=7
    )
    await limit(operator, project_id, stored_memories=None, concurrent_requests=None)
    assert (await operator.admin.get_project_limits(str(project_id)))[0] == Limits()


async def test_a_change_of_limits_is_in_the_operator_s_audit(
    operator: AsyncClient, project_id: UUID, database: TestDatabase
) -> None:
    await limit(operator, project_id, stored_memories=3, concurrent_requests=7)
    with psycopg.connect(database.operator_url) as connection:
        statement = "SELECT action FROM ricordo.audit WHERE subject = %s"
        subject = f"{project_id}: concurrent_requests, stored_memories"
        assert connection.execute(statement, [subject]).fetchall() == [("UpdateProjectLimits",)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("requests_per_second", 0),
        ("concurrent_requests", -1),
        ("stored_bytes", -1),
        ("stored_memories", 2**60),
    ],
)
async def test_a_limit_that_makes_no_sense_is_named(
    operator: AsyncClient, project_id: UUID, name: str, value: int
) -> None:
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        await limit(operator, project_id, **{name: value})
    assert caught.value.field_violations[0].field == f"limits.{name}"


async def test_an_unknown_project_has_none(operator: AsyncClient) -> None:
    with pytest.raises(errors.MemoryNotProvisionedError):
        await operator.admin.get_project_limits(str(uuid4()))
    with pytest.raises(errors.MemoryNotProvisionedError):
        await limit(operator, uuid4(), stored_memories=1)


async def test_a_project_does_not_set_its_own_limits(client: AsyncClient, project_id: UUID) -> None:
    with pytest.raises(errors.MemoryAuthError):
        await limit(client, project_id, stored_memories=None)


async def test_beyond_the_rate_calls_are_told_when_to_come_again(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await limit(operator, project_id, requests_per_second=2)
    with pytest.raises(errors.RateLimitError) as caught:
        await call_often(client)
    error = caught.value
    assert (error.reason, error.retryable) == ("RATE_LIMIT_EXCEEDED", True)
    assert (error.metadata["limit_name"], error.metadata["limit"]) == ("requests_per_second", "2")
    assert error.retry_delay is not None
    assert 0 < error.retry_delay.total_seconds() <= 0.5


async def test_after_the_delay_the_call_is_let_in(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await limit(operator, project_id, requests_per_second=4)
    with pytest.raises(errors.RateLimitError) as caught:
        await call_often(client)
    assert caught.value.retry_delay is not None
    await asyncio.sleep(caught.value.retry_delay.total_seconds())
    await client.identity.who_am_i()


async def test_the_rate_of_one_project_is_not_that_of_another(
    operator: AsyncClient, service_target: str, database: TestDatabase, project_id: UUID, client: AsyncClient
) -> None:
    await limit(operator, project_id, requests_per_second=1)
    with pytest.raises(errors.RateLimitError):
        await call_often(client)
    async with AsyncClient(service_target, token=f"development:{make_project(database)}") as other:
        for _ in range(20):
            await other.identity.who_am_i()


async def test_beyond_its_concurrency_a_project_is_refused(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await limit(operator, project_id, concurrent_requests=1)
    await client.identity.who_am_i()
    outcomes = await asyncio.gather(
        *(client.memories.create(fact()) for _ in range(20)), return_exceptions=True
    )
    refused: list[Any] = [each for each in outcomes if isinstance(each, BaseException)]
    assert len(refused) < len(outcomes)
    assert {(type(each), each.metadata["limit_name"]) for each in refused} == {
        (errors.RateLimitError, "concurrent_requests")
    }


async def test_beyond_the_memories_a_write_is_refused_and_nothing_of_it_stays(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await limit(operator, project_id, stored_memories=2)
    await client.memories.create(fact())
    with pytest.raises(errors.QuotaExceededError) as caught:
        await client.memories.batch_create([fact(), fact()])
    assert caught.value.metadata.items() >= {
        ("limit_name", "stored_memories"),
        ("limit", "2"),
        ("actual", "3"),
    }
    assert not caught.value.retryable
    assert caught.value.retry_delay == timedelta(hours=1)
    assert (await usage(operator, project_id)).stored_memories == 1


async def test_at_its_quota_a_project_may_still_delete_and_purging_makes_room(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    memory = await client.memories.create(fact())
    used = await usage(operator, project_id)
    await limit(operator, project_id, stored_memories=1, stored_bytes=used.stored_bytes)
    with pytest.raises(errors.QuotaExceededError):
        await client.memories.create(fact())
    await client.memories.delete(memory.memory_id)
    await client.memories.delete(memory.memory_id, purge=True)
    assert await usage(operator, project_id) == models.ProjectUsage(
        embedding_tokens=used.embedding_tokens * 2
    )
    await client.memories.create(fact())


async def test_bytes_are_those_of_every_revision(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    memory = await client.memories.create(fact("x" * 1000))
    await client.memories.update(memory.memory_id, models.MemoryChanges(content="y" * 500))
    used = await usage(operator, project_id)
    assert (used.stored_memories, 1500 <= used.stored_bytes < 1600) == (1, True)


async def test_beyond_the_bytes_a_turn_is_refused(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    scope = models.Scope(user_id="ann", session_id="s")
    await client.sessions.record_turn(models.NewTurn(role="user", content="x" * 100), scope=scope)
    await limit(operator, project_id, stored_bytes=250)
    with pytest.raises(errors.QuotaExceededError):
        await client.sessions.record_turn(models.NewTurn(role="user", content="x" * 200), scope=scope)
    await client.sessions.delete(scope)
    assert (await usage(operator, project_id)).stored_bytes == 0


async def test_what_a_store_held_goes_with_it(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await client.stores.create("second")
    await client.memories.create(fact(), store="second")
    await client.stores.delete("second", force=True)
    used = await usage(operator, project_id)
    assert (used.stored_memories, used.stored_bytes) == (0, 0)


async def test_tokens_of_writes_and_searches_are_counted(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await client.memories.create(fact("one two three"))
    await client.memories.search("four five")
    assert (await counted(operator, project_id, 5)).embedding_tokens == 5


async def test_without_tokens_for_today_nothing_is_embedded_until_midnight(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await limit(operator, project_id, embedding_tokens_per_day=4)
    await client.memories.create(fact("one two three"))
    with pytest.raises(errors.RateLimitError) as caught:
        await client.memories.create(fact("four five"))
    assert caught.value.metadata["limit_name"] == "embedding_tokens_per_day"
    assert caught.value.retry_delay is not None
    assert 0 < caught.value.retry_delay.total_seconds() <= 24 * 3600
    await client.memories.search("four", mode=models.SearchMode.TEXT)


async def test_a_refusal_carries_the_standard_details(
    operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    await limit(operator, project_id, stored_memories=0)
    with pytest.raises(errors.QuotaExceededError) as caught:
        await client.memories.create(fact())
    cause = caught.value.__cause__
    assert isinstance(cause, grpc.aio.AioRpcError)
    assert cause.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    status = rpc_status.from_call(cause)
    names = [packed.type_url.rpartition(".")[2] for packed in status.details]
    assert names == [kind.DESCRIPTOR.name for kind in (ErrorInfo, QuotaFailure, RetryInfo)]


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Database]:
    opened = await open_pool(database.app_url, size=4)
    yield Database(opened)
    await opened.close()


async def test_compacting_and_recounting_keep_the_sums(
    pool: Database, operator: AsyncClient, client: AsyncClient, project_id: UUID
) -> None:
    memories = [await client.memories.create(fact("one two three")) for _ in range(3)]
    await client.memories.update(memories[0].memory_id, models.MemoryChanges(content="four"))
    await client.memories.delete(memories[1].memory_id)
    await counted(operator, project_id, 10)
    principal = service_principal(project_id)
    async with tenant_transaction(pool, principal, "", timeout=30) as connection:
        before, rows = await usage_db.read_usage(connection)
        await usage_db.compact_usage(connection)
        compacted, few = await usage_db.read_usage(connection)
        await usage_db.recount_store(connection)
        recounted, _ = await usage_db.read_usage(connection)
    assert rows > few == 2
    assert compacted == before
    assert (recounted.stored_memories, recounted.stored_bytes) == (
        before.stored_memories,
        before.stored_bytes,
    )


async def test_many_rows_are_compacted_when_they_are_read(
    client: AsyncClient, project_id: UUID, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limiter, "COMPACT_AT", 5)
    for _ in range(8):
        await client.memories.create(fact())
    await client.identity.who_am_i()
    await client.identity.who_am_i()
    with psycopg.connect(database.superuser_url) as connection:
        row = connection.execute(
            "SELECT count(*), sum(stored_memories) FROM ricordo.usage WHERE project_id = %s AND store_id IS NOT NULL",
            [project_id],
        ).fetchone()
    assert row is not None
    assert row[0] <= 6
    assert row[1] == 8
