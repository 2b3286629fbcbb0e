"""What a quiet project notices of a noisy one: its latencies alone, and beside fifty callers of another project.

The quiet one is an agent that pauses between its calls; the noise is a program of its own, which does the same, asks
for many hits, reads whole pages, or imports conversations. Rounds alternate, so that whatever else the machine does
meets both.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmarks.stack import Stack, running_stack
from benchmarks.timing import percentile, run_round
from benchmarks.workload import Texts
from ricordo import AsyncClient, errors, models

NOISY_CALLERS = 50
ROUNDS, RUNS = 8, 40
PAUSE = 0.1  # seconds
# What is read.
MEMORIES = 2_000
TEXTS = Texts()


async def make_project(stack: Stack) -> str:
    async with AsyncClient(stack.target, token="development:operator") as operator:
        organization = await operator.admin.create_organization("benchmark")
        made = await operator.admin.create_project("p", organization_id=organization.organization_id)
        return made.project_id


async def work(client: AsyncClient, number: int) -> None:
    """A write and a search, as an agent does them."""
    await client.memories.create(models.NewMemory(content=f"fact {number}: Ann likes green tea"))
    await client.memories.search("green tea", top_k=5)


async def read_pages(client: AsyncClient, number: int) -> None:
    async for _ in client.memories.list(page_size=1000):
        pass


async def import_turns(client: AsyncClient, number: int) -> None:
    turns = [models.NewTurn(role="user", content=TEXTS.sentence()) for _ in range(500)]
    await client.sessions.batch_record_turns(turns, scope=models.Scope(user_id="u", session_id=str(number)))


async def search_much(client: AsyncClient, number: int) -> None:
    await client.memories.search(TEXTS.sentence(), top_k=200)


NOISES: Mapping[str, Callable[[AsyncClient, int], Awaitable[None]]] = {
    "calls": work,
    "searches": search_much,
    "pages": read_pages,
    "batches": import_turns,
}


async def visit(client: AsyncClient, number: int) -> float:
    """The seconds of an agent's work, after a pause: it does not ask for all that the machine can do."""
    await asyncio.sleep(PAUSE)
    start = time.perf_counter()
    await work(client, number)
    return time.perf_counter() - start


async def fill(stack: Stack, project_id: str) -> None:
    async with AsyncClient(stack.target, token=f"development:{project_id}", timeout=120) as client:
        for _ in range(0, MEMORIES, 500):
            await client.memories.batch_create(
                [models.NewMemory(content=TEXTS.sentence()) for _ in range(500)]
            )


async def measure(stack: Stack, noisy_limit: int | None, kind: str) -> dict[str, float]:
    """Ratios of the quiet project's latencies, beside the noisy one to alone."""
    quiet_id, noisy_id = await make_project(stack), await make_project(stack)
    if noisy_limit:
        async with AsyncClient(stack.target, token="development:operator") as operator:
            limits = models.ProjectLimits(requests_per_second=noisy_limit)
            await operator.admin.update_project_limits(noisy_id, limits)
    if kind in {"searches", "pages"}:
        await fill(stack, noisy_id)
    latencies: dict[bool, list[float]] = {False: [], True: []}
    async with AsyncClient(stack.target, token=f"development:{quiet_id}") as quiet:
        for number in range(ROUNDS * 2):
            beside = bool(number % 2)
            with noise(stack.target, noisy_id, kind) if beside else nullcontext():
                latencies[beside] += [await visit(quiet, number * RUNS + run) for run in range(RUNS)]
    return {
        name: round(percentile(latencies[True], share) / percentile(latencies[False], share), 2)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    }


@contextmanager
def noise(target: str, project_id: str, kind: str) -> Iterator[None]:
    """Until the block is left; it has begun when the block is entered."""
    command = [sys.executable, "-m", "benchmarks.noisy", "--shout", target, project_id, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        assert program.stdout
        program.stdout.readline()
        yield
        program.terminate()


async def shout(target: str, project_id: str, kind: str) -> None:
    """Fifty callers who never stop."""
    async with AsyncClient(target, token=f"development:{project_id}", timeout=120) as client:

        async def call(_: int, run: int) -> None:
            if run == NOISY_CALLERS:  # each has begun, and one has ended
                print("loud", flush=True)
            try:
                await NOISES[kind](client, run)
            except errors.TooManyRequestsError as refused:
                await asyncio.sleep(refused.retry_delay.total_seconds() if refused.retry_delay else 0.1)

        await run_round(call, callers=NOISY_CALLERS, runs=10**9)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--limit", type=int, help="calls a second that the noisy project may make")
    arguments.add_argument("--noise", choices=NOISES, default="calls", help="what the noisy project does")
    arguments.add_argument("--embedder", choices=("hashing", "local"), default="hashing")
    arguments.add_argument("--shout", nargs=3, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.shout:
        asyncio.run(shout(*given.shout))
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(
            Path(folder) / "data", provider=given.embedder, dimension=64 if given.embedder == "hashing" else 0
        ) as stack,
    ):
        gc.freeze()  # what is measured is the server's pauses, not this program's
        ratio = asyncio.run(measure(stack, given.limit, given.noise))
        print(
            json.dumps(
                {"limit": given.limit, "noise": given.noise, "embedder": given.embedder, "ratio": ratio}
            )
        )


if __name__ == "__main__":
    main()
