"""Speed of the service beside raw SQL on the same Postgres, in one run: `make bench-speed N=2000`.

Raw and service take turns, round by round, so that what else the machine does meets both; the ratios count.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.facts import commit, machine, today, write_result
from benchmarks.raw import Raw
from benchmarks.recall import Exact, measure_recall
from benchmarks.stack import Stack, running_stack
from benchmarks.through_service import Caller, open_callers
from benchmarks.timing import Operation, Round, compare, run_round, summarise
from benchmarks.workload import BUCKETS, USERS, Tenant, Texts, analyse, fill, make_tenant
from ricordo import AsyncClient
from ricordo.models import Scope
from ricordo_server.db.connection import open_pool
from ricordo_server.db.search import EXACT_THRESHOLD
from ricordo_server.domain.scope import Scope as RawScope
from ricordo_server.embedding import load_embedder

DIMENSION = 384
CALLERS = (1, 16)
RUNS = {1: 30, 16: 160}
QUERIES = 100
SELECTIVITIES = (1, 10, 50)
"""In hundredths of the rows."""


@dataclass
class Bench:
    """What a measurement calls, and what it has found."""

    raw: Raw
    callers: Sequence[Caller]
    texts: Texts
    rounds: dict[tuple[str, int, str], list[Round]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._queries = [self.texts.query() for _ in range(QUERIES)]
        self._sentences = [self.texts.sentence() for _ in range(QUERIES)]

    def operations(self) -> Iterator[tuple[str, str, Operation]]:
        """(what, how, a function of caller and run), each pair of raw and service side by side."""
        for what in ("record_turn", "save_memory"):
            yield what, "raw", self._writer(lambda caller, what=what: getattr(self.raw, what), RawScope)
            yield (
                what,
                "service",
                self._writer(lambda caller, what=what: getattr(self.callers[caller], what), Scope),
            )
        for mode in ("text", "semantic", "hybrid"):
            yield mode, "raw", self._reader(getattr(self.raw, f"search_{mode}"))
            yield mode, "service", self._searcher(mode)

    def _writer(
        self, method: Callable[[int], Callable[..., Awaitable[object]]], scope_type: Any
    ) -> Operation:
        async def write(caller: int, number: int) -> object:
            scope = scope_type(user_id=f"user-{caller % USERS}", session_id=f"session-{caller}")
            return await method(caller)(scope, f"{self._sentences[number % QUERIES]} {number}")

        return write

    def _reader(self, search: Callable[[str], Awaitable[Sequence[object]]]) -> Operation:
        async def read(caller: int, number: int) -> object:
            return await search(self._queries[number % QUERIES])

        return read

    def _searcher(self, mode: str) -> Operation:
        async def read(caller: int, number: int) -> object:
            return await self.callers[caller].search(self._queries[number % QUERIES], mode)

        return read

    async def run(self, rounds: int) -> None:
        """The first round warms up and does not count."""
        for number in range(rounds + 1):
            operations = list(self.operations())
            if number % 2:  # who goes first changes from round to round
                operations = [
                    pair for at in range(0, len(operations), 2) for pair in operations[at : at + 2][::-1]
                ]
            for what, how, operation in operations:
                for callers in CALLERS:
                    done = await run_round(
                        operation, callers=callers, runs=RUNS[callers], first=number * RUNS[callers]
                    )
                    if number:
                        self.rounds.setdefault((what, callers, how), []).append(done)

    def table(self) -> list[dict[str, Any]]:
        pairs = dict.fromkeys((what, callers) for what, callers, _ in self.rounds)
        rows = []
        for what, callers in pairs:
            service = summarise(self.rounds[what, callers, "service"])
            raw = summarise(self.rounds[what, callers, "raw"])
            row = {"operation": what, "callers": callers, "service": service, "raw": raw}
            rows.append({**row, "service_to_raw": compare(service, raw)})
        return rows


async def measure(stack: Stack, n: int, rounds: int) -> dict[str, Any]:
    texts = Texts()
    tenants = [make_tenant(stack, rows) for rows in sizes(n)]
    writing = make_tenant(stack, 0)
    for tenant in tenants:
        await fill(stack, tenant, texts)
    await asyncio.to_thread(analyse, stack)
    embedder = load_embedder(stack.embedding)
    pool = await open_pool(stack.app_url, size=max(CALLERS))
    try:
        async with open_callers(stack, tenants[-1], writing, max(CALLERS)) as callers:
            bench = Bench(Raw(pool, embedder, tenants[-1], writing), callers, texts)
            await bench.run(rounds)
        recall = [row async for row in measure_all_recall(stack, Exact(pool, embedder), tenants, texts)]
    finally:
        await pool.close()
        await embedder.aclose()
    return {"operations": bench.table(), "recall": recall}


async def measure_all_recall(stack: Stack, exact: Exact, tenants: Sequence[Tenant], texts: Texts) -> Any:
    """Of each tenant as a whole, then of the largest under filters."""
    queries = [texts.query() for _ in range(QUERIES)]
    cases = [(tenant, BUCKETS) for tenant in tenants] + [(tenants[-1], share) for share in SELECTIVITIES]
    for tenant, buckets in cases:
        async with AsyncClient(stack.target, token=tenant.token) as client:
            yield await measure_recall(client, exact, tenant, queries, buckets=buckets)


def sizes(n: int) -> list[int]:
    """Powers of ten from 100, then N."""
    return [size for size in (100, 1_000, 10_000, 100_000) if size < n] + [n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2_000, help="memories of the largest tenant")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--embedder", choices=["hashing", "local"], default="hashing")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    measured_commit = commit()  # now: others may commit while this runs
    dimension = DIMENSION if arguments.embedder == "hashing" else 0
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(
            Path(folder), provider=arguments.embedder, dimension=dimension, processes=arguments.processes
        ) as stack,
    ):
        measured = asyncio.run(measure(stack, arguments.n, arguments.rounds))
        embedder = stack.embedder
    report = {
        "commit": measured_commit,
        "date": today(),
        "machine": machine(),
        "n": arguments.n,
        "embedder": embedder,
        "processes": arguments.processes,
        "exact_threshold": EXACT_THRESHOLD,
        **measured,
    }
    for row in (*report["operations"], *report["recall"]):
        print(json.dumps(row))
    print(write_result("speed.json", report))


if __name__ == "__main__":
    main()
