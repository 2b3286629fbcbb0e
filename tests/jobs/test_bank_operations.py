"""What a memory bank is asked for without waiting, once a worker comes."""

from collections.abc import AsyncIterator

import pytest

from ricordo import AsyncClient
from ricordo_server.config import Settings
from ricordo_server.jobs import operations
from tests.jobs.queue import worker


@pytest.fixture
async def client(service_target: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target) as opened:
        yield opened


async def test_what_was_generated_comes_with_its_operation(client: AsyncClient, settings: Settings) -> None:
    bank = (await client.memory_banks.create(config={"memory_bank_id": "tea-bank"})).name
    started = await client.memory_banks.memories.generate(
        name=bank,
        direct_memories_source={"direct_memories": [{"fact": "I live in Rome."}]},
        scope={"user_id": "ada"},
        config={"wait_for_completion": False},
    )
    assert started.name is not None
    async with worker(settings, *operations.KINDS):
        ended = await client.memory_banks.wait_operation(name=started.name, timeout=60)
    assert (ended.name, ended.done, ended.error) == (started.name, True, None)
    assert ended.response is not None
    (made,) = ended.response.generated_memories
    found = await client.memory_banks.memories.get(name=made.memory.name)
    assert found.fact == made.memory.fact == "I live in Rome."


async def test_an_operation_that_failed_says_why(client: AsyncClient, settings: Settings) -> None:
    bank = (await client.memory_banks.create(config={"memory_bank_id": "tea-bank"})).name
    started = await client.memory_banks.memories.generate(
        name=bank,
        direct_memories_source={"direct_memories": [{"fact": "I live in Rome."}]},
        scope={"user_id": "ada"},
        config={"wait_for_completion": False},
    )
    assert started.name is not None
    await client.operations.cancel(started.name.rpartition("/")[2], store="tea-bank")
    ended = await client.memory_banks.get_operation(name=started.name)
    assert (ended.done, ended.response) == (True, None)
    assert ended.error is not None
    assert (ended.error["code"], ended.error["reason"]) == ("CANCELLED", "OPERATION_CANCELLED")
