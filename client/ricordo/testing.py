"""Fixtures for pytest: memory that is thrown away with the test. Loaded by pytest itself, see `pytest --fixtures`.

    def test_my_agent_remembers(ricordo_memory):
        my_agent(ricordo_memory.bind(...)).run("I drink green tea.")
        assert ricordo_memory.search_semantic("drink")

`RICORDO_TARGET` names a running server ("localhost:7483") and `RICORDO_TOKEN` a credential that may make stores;
without a target the tests that ask for memory are skipped.
"""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest

from ricordo import Client, Memory

__all__ = ["ricordo_memory", "ricordo_store"]


@pytest.fixture
def ricordo_store() -> Iterator[str]:
    """The id of a new store, deleted with all that is in it when the test ends."""
    with _client() as client:
        store_id = f"test-{uuid4()}"
        client.stores.create(store_id, description="thrown away with its test")
        yield store_id
        client.stores.delete(store_id, force=True)


@pytest.fixture
def ricordo_memory(ricordo_store: str) -> Iterator[Memory]:
    """The memory of a new store, deleted with all that is in it when the test ends."""
    with _client() as client, Memory(client=client, store=ricordo_store) as memory:
        yield memory


def _client() -> Client:
    target = os.environ.get("RICORDO_TARGET", "").strip()
    if not target:
        pytest.skip(
            "RICORDO_TARGET names no server: start one with `ricordo up` and set it to localhost:7483"
        )
    return Client(target, token=os.environ.get("RICORDO_TOKEN", "").strip() or None)
