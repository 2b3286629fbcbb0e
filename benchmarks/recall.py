"""Recall@10 of semantic search through the service, against the exact answer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmarks import raw_sql as sql
from benchmarks.raw import MODEL_ID, TOP_K
from benchmarks.timing import percentile
from benchmarks.workload import BUCKETS, Tenant
from ricordo import AsyncClient
from ricordo_server.db.connection import Pool
from ricordo_server.db.rows import vector_text
from ricordo_server.domain.ports import Embedder, EmbeddingKind


@dataclass(frozen=True)
class Exact:
    """Answers a semantic search by comparing every vector."""

    pool: Pool
    embedder: Embedder

    async def find(
        self, tenant: Tenant, query: str, *, buckets: int = BUCKETS, limit: int = TOP_K
    ) -> list[str]:
        """The ids of the nearest, best first; only those of the first `buckets` of 100."""
        [vector] = await self.embedder.embed([query], EmbeddingKind.QUERY)
        statement = sql.by_vector(
            exact=True,
            dimension=self.embedder.dimension,
            model_id=MODEL_ID,
            limit=limit,
            columns="m.memory_id",
            condition=sql.BUCKET_BELOW.format(buckets=buckets),
        )
        parameters = {
            "project_id": tenant.project_id,
            "store_id": tenant.store_id,
            "vector": vector_text(vector),
        }
        async with self.pool.connection() as connection:
            await connection.execute(sql.ENTER, parameters)
            rows = await (await connection.execute(statement, parameters)).fetchall()
        return [row["memory_id"] for row in rows]


async def measure_recall(
    client: AsyncClient, exact: Exact, tenant: Tenant, queries: Sequence[str], *, buckets: int = BUCKETS
) -> dict[str, Any]:
    """Means over the queries; `share_exact` tells how often the service compared every vector."""
    filters = {"metadata.bucket": {"$lt": buckets}} if buckets < BUCKETS else None
    shares, latencies, compared_all, least = [], [], [], TOP_K
    for query in queries:
        start = time.perf_counter()
        result = await client.memories.search(query, mode="semantic", top_k=TOP_K, filters=filters)
        latencies.append(time.perf_counter() - start)
        found = {hit.memory.memory_id for hit in result.hits}
        wanted = await exact.find(tenant, query, buckets=buckets)
        shares.append(len(found.intersection(wanted)) / len(wanted))
        compared_all.append(result.report.exact)
        least = min(least, len(found))
    return {
        "rows": tenant.rows,
        "selectivity": buckets / BUCKETS,
        "recall_at_10": round(fmean(shares), 4),
        "worst": round(min(shares), 2),
        "fewest_hits": least,
        "share_exact": round(fmean(compared_all), 2),
        "p50_ms": round(percentile(latencies, 0.5) * 1_000, 2),
        "queries": len(queries),
    }
