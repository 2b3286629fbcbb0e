from collections.abc import AsyncIterator

import pytest

from ricordo import AsyncClient, AsyncMemory
from tests.fixtures.fake_service import FakeService


@pytest.fixture
async def client(fake: FakeService) -> AsyncIterator[AsyncClient]:
    """A client of the scripted server."""
    async with AsyncClient(fake.target) as one:
        yield one


@pytest.fixture
async def live(service_target: str, token: str) -> AsyncIterator[AsyncClient]:
    """A client of a real server, as a service of the test's own project."""
    async with AsyncClient(service_target, token=token) as one:
        yield one


@pytest.fixture
async def live_memory(live: AsyncClient) -> AsyncIterator[AsyncMemory]:
    """The facade on a real server."""
    async with AsyncMemory(client=live) as one:
        yield one
