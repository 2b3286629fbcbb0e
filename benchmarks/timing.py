"""Rounds of one operation by several callers, and what they say: pure but for the clock."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

Operation = Callable[[int, int], Awaitable[object]]
"""Takes the caller's number and the number of the run."""


@dataclass(frozen=True)
class Round:
    """`latencies` and `seconds` in seconds."""

    latencies: Sequence[float]
    seconds: float


async def run_round(operation: Operation, *, callers: int, runs: int, first: int = 0) -> Round:
    """Runs the operation `runs` times in all, `callers` at a time; each caller starts its next when one ends."""
    numbers = count(first)
    latencies: list[float] = []

    async def call(caller: int) -> None:
        while (number := next(numbers)) < first + runs:
            start = time.perf_counter()
            await operation(caller, number)
            latencies.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(call(caller) for caller in range(callers)))
    return Round(latencies, time.perf_counter() - start)


def percentile(values: Iterable[float], share: float) -> float:
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summarise(rounds: Sequence[Round]) -> dict[str, Any]:
    latencies = [latency for each in rounds for latency in each.latencies]
    return {
        "runs": len(latencies),
        "p50_ms": round(percentile(latencies, 0.50) * 1_000, 2),
        "p95_ms": round(percentile(latencies, 0.95) * 1_000, 2),
        "per_second": round(len(latencies) / sum(each.seconds for each in rounds), 1),
    }


def compare(service: dict[str, Any], raw: dict[str, Any]) -> dict[str, float]:
    """Above 1 the service costs more: times longer, or that much less throughput."""
    return {
        "p50": round(service["p50_ms"] / raw["p50_ms"], 2),
        "p95": round(service["p95_ms"] / raw["p95_ms"], 2),
        "throughput": round(raw["per_second"] / service["per_second"], 2),
    }
