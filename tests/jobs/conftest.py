import pytest


@pytest.fixture(autouse=True)
def _begin_with_an_empty_queue(empty_queue: None) -> None:
    """Every test here has a worker."""
