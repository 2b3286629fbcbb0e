"""One server for a module, and places filled through it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

import grpc.aio
import pytest_asyncio

from ricordo_server.config import Settings
from ricordo_server.embedding import EmbeddingSettings
from ricordo_server.server import running_server
from tests.fixtures.database import TestDatabase, make_project
from tests.fixtures.service import UNPACED

Item = TypeVar("Item")


def settings_of(database: TestDatabase, **given: object) -> Settings:
    return Settings(
        database_url=database.app_url,
        operator_url=database.operator_url,
        port=0,
        embedding=EmbeddingSettings(provider="hashing"),
        shutdown_grace=0,
        **{**UNPACED, **given},  # type: ignore[arg-type]
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def channel(database: TestDatabase) -> AsyncIterator[grpc.aio.Channel]:
    settings = settings_of(database, development_project=make_project(database))
    async with (
        running_server(settings) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as opened,
    ):
        yield opened


async def at_once(items: Iterable[Item], work: Callable[[Item], Awaitable[None]], most: int = 8) -> None:
    """Runs `work` for every item, `most` at a time; keeps nothing of what is done."""
    left = iter(items)

    async def work_on() -> None:
        for item in left:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(most):
            group.create_task(work_on())
