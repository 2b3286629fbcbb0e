"""A store on a real server, for each of the frameworks, in both colours."""

from collections.abc import AsyncIterator, Iterator

import pytest

from ricordo import AsyncClient, Client
from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo._sync.memory_stores import MemoryStore


@pytest.fixture
async def async_client(service_target: str, token: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target, token=token) as client:
        yield client


@pytest.fixture
def client(service_target: str, token: str) -> Iterator[Client]:
    with Client(service_target, token=token) as client:
        yield client


@pytest.fixture
async def async_store(async_client: AsyncClient) -> AsyncMemoryStore:
    return await async_client.memory_stores.create("assistant-memory")


@pytest.fixture
def store(client: Client) -> MemoryStore:
    return client.memory_stores.create("assistant-memory")
