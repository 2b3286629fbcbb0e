from collections.abc import Iterator

import pytest

from tests.fixtures.fake_service import FakeService, running_fake_service


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with running_fake_service() as service:
        yield service
