"""How long given facts take to become memories: 1 to 500 at once, beside none and 500 of the user's."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.facts import commit, machine, today, write_result
from benchmarks.stack import Stack, running_stack
from benchmarks.workload import Texts
from ricordo import AsyncClient
from ricordo.models import Scope

DIMENSION = 384
ROUNDS = 2
KNOWN = (0, 500)
FACTS = (1, 50, 500)


async def measure(stack: Stack) -> list[dict[str, Any]]:
    texts = Texts()
    rows = []
    async with AsyncClient(stack.target, token=stack.token, timeout=300) as client:
        for known in KNOWN:
            seconds: dict[int, list[float]] = {count: [] for count in FACTS}
            for number in range(ROUNDS):
                for count in FACTS:
                    scope = Scope(user_id=f"user-{known}-{number}-{count}")
                    for _ in range(known // 500):
                        await generate(client, texts, scope, 500)
                    seconds[count].append(await generate(client, texts, scope, count))
            for count, each in seconds.items():
                fact = 1_000 * median(each) / count
                rows.append({"known": known, "facts": count, "seconds": median(each), "ms_a_fact": fact})
    return rows


async def generate(client: AsyncClient, texts: Texts, scope: Scope, count: int) -> float:
    facts = [texts.sentence() for _ in range(count)]
    start = time.perf_counter()
    await client.extraction.generate(facts=facts, scope=scope)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the figures in results/generation.json")
    write = parser.parse_args().write
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder), provider="hashing", dimension=DIMENSION) as stack,
    ):
        rows = asyncio.run(measure(stack))
    for row in rows:
        print(row)
    if write:
        report = {"date": today(), "commit": commit(), "machine": machine(), "rows": rows}
        write_result("generation.json", report)


if __name__ == "__main__":
    main()
