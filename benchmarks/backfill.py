"""How fast completion gives a project's rows the vectors of a second model: rows a second, nobody else calling."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from uuid import UUID

from benchmarks.stack import Stack, running_stack
from ricordo import AsyncClient, models
from ricordo_server.app.completion import complete_project
from ricordo_server.config import Settings
from ricordo_server.db.migrations import register_embedding_model
from ricordo_server.embedding import EmbeddingSettings, probe_embedder
from ricordo_server.embedding.stored import store_settings
from ricordo_server.server import open_services

SECOND = {
    "hashing": EmbeddingSettings(provider="hashing", dimension=384),
    "local": EmbeddingSettings(provider="local"),
}
# About 40 words, as a fact or a turn has.
TEXT = " ".join(["the customer number {n} asked about the delivery of an order and prefers to be called"] * 3)
BATCH = 500


async def fill(stack: Stack, rows: int) -> None:
    scope = models.Scope(user_id="ann")
    async with AsyncClient(stack.target, token=stack.token, timeout=300) as client:
        for start in range(0, rows, BATCH):
            numbers = range(start, min(start + BATCH, rows))
            new = [
                models.NewMemory(kind="semantic", content=TEXT.format(n=number), scope=scope)
                for number in numbers
            ]
            await client.memories.batch_create(new)


async def measure(stack: Stack, second: EmbeddingSettings, rows: int) -> float:
    """Seconds of the completion alone."""
    name, dimension = await probe_embedder(second)
    await asyncio.to_thread(
        register_embedding_model, stack.superuser_url, name, dimension, store_settings(second)
    )
    async with AsyncClient(stack.target, token=stack.token, timeout=300) as client:
        await client.project.register_embedding_model(name)
        settings = Settings(database_url=stack.app_url, embedding=stack.embedding)
        async with open_services(settings, pool_size=2) as services:
            started = time.perf_counter()
            done = await complete_project(services, UUID(stack.project_id), seconds=3_600)
            seconds = time.perf_counter() - started
        if done.embedded != rows:
            raise RuntimeError(f"{rows} rows were to be completed: {done}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--embedder", choices=SECOND, default="hashing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_stack(Path(folder), provider="hashing") as stack:
        asyncio.run(fill(stack, given.rows))
        seconds = asyncio.run(measure(stack, SECOND[given.embedder], given.rows))
        print(f"{given.embedder}: {given.rows} rows in {seconds:.1f} s, {given.rows / seconds:.0f} rows/s")


if __name__ == "__main__":
    main()
