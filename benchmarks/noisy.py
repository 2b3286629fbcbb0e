"""What a quiet project notices of a noisy one: its latencies alone, and beside fifty callers of another project.

The quiet one has two callers; the noise is a program of its own. Rounds alternate, so that whatever else the machine
does meets both alike.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmarks.stack import Stack, running_stack
from benchmarks.timing import Round, percentile, run_round
from ricordo import AsyncClient, errors, models

QUIET_CALLERS, NOISY_CALLERS = 2, 50
ROUNDS, RUNS = 8, 15


async def make_project(stack: Stack) -> str:
    async with AsyncClient(stack.target, token="development:operator") as operator:
        organization = await operator.admin.create_organization("benchmark")
        made = await operator.admin.create_project("p", organization_id=organization.organization_id)
        return made.project_id


async def work(client: AsyncClient, number: int) -> None:
    """A write and a search, as an agent does them."""
    try:
        await client.memories.create(models.NewMemory(content=f"fact {number}: Ann likes green tea"))
        await client.memories.search("green tea", top_k=5)
    except errors.TooManyRequestsError as refused:
        await asyncio.sleep(refused.retry_delay.total_seconds() if refused.retry_delay else 0.1)


async def measure(stack: Stack, noisy_limit: int | None) -> dict[str, float]:
    """Ratios of the quiet project's latencies, beside the noisy one to alone."""
    quiet_id, noisy_id = await make_project(stack), await make_project(stack)
    if noisy_limit:
        async with AsyncClient(stack.target, token="development:operator") as operator:
            limits = models.ProjectLimits(requests_per_second=noisy_limit)
            await operator.admin.update_project_limits(noisy_id, limits)
    rounds: dict[bool, list[Round]] = {False: [], True: []}
    async with AsyncClient(stack.target, token=f"development:{quiet_id}") as quiet:
        for number in range(ROUNDS * 2):
            beside = bool(number % 2)
            with noise(stack.target, noisy_id) if beside else nullcontext():
                done = await run_round(
                    lambda _, run: work(quiet, run), callers=QUIET_CALLERS, runs=RUNS, first=number * RUNS
                )
            rounds[beside].append(done)
    alone, together = ([one for each in rounds[beside] for one in each.latencies] for beside in (False, True))
    return {
        name: round(percentile(together, share) / percentile(alone, share), 2)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    }


@contextmanager
def noise(target: str, project_id: str) -> Iterator[None]:
    """Until the block is left; it has begun when the block is entered."""
    command = [sys.executable, "-m", "benchmarks.noisy", "--shout", target, project_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        assert program.stdout
        program.stdout.readline()
        yield
        program.terminate()


async def shout(target: str, project_id: str) -> None:
    """Fifty callers who never stop."""
    async with AsyncClient(target, token=f"development:{project_id}") as client:
        await work(client, 0)
        print("loud", flush=True)
        await run_round(lambda _, run: work(client, run), callers=NOISY_CALLERS, runs=10**9)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--limit", type=int, help="calls a second that the noisy project may make")
    arguments.add_argument("--shout", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.shout:
        asyncio.run(shout(*given.shout))
    limit = given.limit
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder) / "data", provider="hashing", dimension=64) as stack,
    ):
        print(json.dumps({"limit": limit, "ratio": asyncio.run(measure(stack, limit))}))


if __name__ == "__main__":
    main()
