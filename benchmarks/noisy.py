"""What a quiet project notices of a noisy one: its latencies alone, and beside fifty callers of another project.

The quiet one has two callers. Rounds alternate, so that whatever else the machine does meets both alike.
"""

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

from benchmarks.stack import Stack, running_stack
from benchmarks.timing import Round, percentile, run_round
from ricordo import AsyncClient, errors, models

QUIET_CALLERS, NOISY_CALLERS = 2, 50
ROUNDS, RUNS = 6, 150


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
    async with (
        AsyncClient(stack.target, token=f"development:{quiet_id}", local_subchannel_pool=True) as quiet,
        AsyncClient(stack.target, token=f"development:{noisy_id}", local_subchannel_pool=True) as noisy,
    ):
        for number in range(ROUNDS * 2):
            beside = bool(number % 2)
            noise = [asyncio.create_task(shout(noisy)) for _ in range(NOISY_CALLERS if beside else 0)]
            done = await run_round(
                lambda _, run: work(quiet, run), callers=QUIET_CALLERS, runs=RUNS, first=number * RUNS
            )
            rounds[beside].append(done)
            for each in noise:
                each.cancel()
            await asyncio.gather(*noise, return_exceptions=True)
    alone, together = ([one for each in rounds[beside] for one in each.latencies] for beside in (False, True))
    return {
        name: round(percentile(together, share) / percentile(alone, share), 2)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    }


async def shout(client: AsyncClient) -> None:
    number = 0
    while True:
        await work(client, number)
        number += 1


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--limit", type=int, help="calls a second that the noisy project may make")
    limit = arguments.parse_args().limit
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder) / "data", provider="hashing", dimension=64) as stack,
    ):
        print(json.dumps({"limit": limit, "ratio": asyncio.run(measure(stack, limit))}))


if __name__ == "__main__":
    main()
