"""Where comparing every vector stops being faster than the graph: `python -m benchmarks.crossover`.

Tenants of many sizes share one hash partition, so one graph; `--alone` gives each a partition. Both ways answer the
50 candidates of a search, in turns; the figures choose EXACT_THRESHOLD in `db/search.py` and ef_search in
`db/sql/enter_vector_leg.sql`.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import raw_sql as sql
from benchmarks.facts import commit, machine, today, write_result
from benchmarks.raw import CANDIDATES, KEY, MODEL_ID, TOP_K
from benchmarks.stack import Stack, running_stack
from benchmarks.timing import percentile
from benchmarks.workload import Tenant, Texts, analyse, fill, make_tenant
from ricordo_server.db.connection import Pool, open_pool
from ricordo_server.db.rows import vector_text
from ricordo_server.domain.ports import EmbeddingKind
from ricordo_server.embedding import load_embedder

SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
EF_SEARCH = (40, 100, 200, 400)
QUERIES = 40
DIMENSION = 384


@dataclass(frozen=True)
class Way:
    """`ef_search` of the graph, or None for exact; `statement` with named parameters."""

    name: str
    statement: str
    ef_search: int | None


def ways() -> list[Way]:
    shape: dict[str, Any] = {
        "dimension": DIMENSION,
        "model_id": MODEL_ID,
        "limit": CANDIDATES,
        "columns": KEY,
    }
    graph = sql.by_vector(exact=False, **shape)
    exact = sql.by_vector(exact=True, **shape)
    return [Way("exact", exact, None), *(Way(f"graph, ef {ef}", graph, ef) for ef in EF_SEARCH)]


@dataclass
class Found:
    latencies: list[float] = field(default_factory=list)
    near: list[float] = field(default_factory=list)
    candidates: list[float] = field(default_factory=list)


async def ask(pool: Pool, way: Way, parameters: Mapping[str, Any]) -> list[str]:
    async with pool.connection() as connection, connection.pipeline():
        await connection.execute(sql.ENTER, parameters)
        if way.ef_search is None:
            await connection.execute("SELECT set_config('plan_cache_mode', 'force_custom_plan', true)")
        else:
            await connection.execute(sql.ENTER_GRAPH, {"ef_search": way.ef_search})
        rows = await (await connection.execute(way.statement, parameters)).fetchall()
    return [row["memory_id"] for row in rows]


async def compare_ways(pool: Pool, tenant: Tenant, vectors: Sequence[str]) -> list[dict[str, Any]]:
    found = {way.name: Found() for way in ways()}
    for number, vector in enumerate([vectors[0], *vectors]):  # the first warms up
        parameters = {"project_id": tenant.project_id, "store_id": tenant.store_id, "vector": vector}
        wanted: list[str] = []
        for way in ways():
            start = time.perf_counter()
            got = await ask(pool, way, parameters)
            seconds = time.perf_counter() - start
            wanted = wanted or got
            if number:
                found[way.name].latencies.append(seconds)
                found[way.name].near.append(_share(got, wanted[:TOP_K]))
                found[way.name].candidates.append(_share(got, wanted))
    return [as_row(tenant, name, each) for name, each in found.items()]


def _share(got: Sequence[str], wanted: Sequence[str]) -> float:
    return len(set(got[: len(wanted)]).intersection(wanted)) / len(wanted)


def as_row(tenant: Tenant, name: str, found: Found) -> dict[str, Any]:
    return {
        "rows": tenant.rows,
        "way": name,
        "p50_ms": round(percentile(found.latencies, 0.5) * 1_000, 2),
        "p95_ms": round(percentile(found.latencies, 0.95) * 1_000, 2),
        "recall_at_10": round(fmean(found.near), 3),
        "recall_at_50": round(fmean(found.candidates), 3),
    }


async def measure(stack: Stack, sizes: Sequence[int], *, alone: bool) -> list[dict[str, Any]]:
    texts = Texts()
    tenants = [make_tenant(stack, rows, place=place if alone else 0) for place, rows in enumerate(sizes)]
    for tenant in tenants:
        await fill(stack, tenant, texts)
    await asyncio.to_thread(analyse, stack)
    embedder = load_embedder(stack.embedding)
    embedded = await embedder.embed([texts.query() for _ in range(QUERIES)], EmbeddingKind.QUERY)
    await embedder.aclose()
    vectors = [vector_text(vector) for vector in embedded]
    pool = await open_pool(stack.app_url, size=2)
    try:
        return [row for tenant in tenants for row in await compare_ways(pool, tenant, vectors)]
    finally:
        await pool.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--alone", action="store_true", help="a hash partition for each tenant")
    arguments = parser.parse_args()
    measured_commit = commit()  # now: others may commit while this runs
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder), provider="hashing", dimension=DIMENSION) as stack,
    ):
        rows = asyncio.run(measure(stack, arguments.sizes, alone=arguments.alone))
    for row in rows:
        print(json.dumps(row))
    report = {"commit": measured_commit, "date": today(), "machine": machine(), "rows": rows}
    print(write_result("crossover-alone.json" if arguments.alone else "crossover.json", report))


if __name__ == "__main__":
    main()
