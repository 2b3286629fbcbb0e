from collections.abc import AsyncIterator

import pytest

from ricordo import AsyncClient
from tests.fixtures.fake_service import FakeService


@pytest.fixture
async def client(fake: FakeService) -> AsyncIterator[AsyncClient]:
    """A client of the scripted server."""
    async with AsyncClient(fake.target) as one:
        yield one
