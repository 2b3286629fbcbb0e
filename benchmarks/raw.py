"""The floor: the same work as hand-written psycopg, as `ricordo_app`, in one transaction and few round trips.

It writes the tenant's own rows (no record of a request id, which is the service's own promise), knows its ids
(no look-up of a store's name) and how many rows it searches (no count), and embeds as the service does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uuid_utils.compat import uuid7

from benchmarks import raw_sql as sql
from benchmarks.workload import Tenant
from ricordo_server.db.connection import Pool, Row
from ricordo_server.db.rows import vector_text
from ricordo_server.db.search import EXACT_THRESHOLD
from ricordo_server.domain.fusion import Candidate, fuse
from ricordo_server.domain.ports import Embedder, EmbeddingKind
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.search import Fusion

TOP_K = 10
CANDIDATES = 50
EF_SEARCH = 200
MODEL_ID = 1
KEY = "m.memory_id, m.update_time"


@dataclass(frozen=True)
class Raw:
    pool: Pool
    embedder: Embedder
    tenant: Tenant
    writing: Tenant

    async def record_turn(self, scope: Scope, content: str) -> Row:
        parameters = {
            **_written(self.writing, scope, content),
            "turn_id": str(uuid7()),
            "vector": await self._embed(content, EmbeddingKind.DOCUMENT),
        }
        statements = [sql.ENTER, sql.LOCK_SESSION, sql.INSERT_TURN, sql.INSERT_TURN_VECTOR]
        [[row]] = await self._run(statements, parameters, read=[2])
        return row

    async def save_memory(self, scope: Scope, content: str) -> Row:
        parameters = {
            **_written(self.writing, scope, content),
            "memory_id": str(uuid7()),
            "vector": await self._embed(content, EmbeddingKind.DOCUMENT),
        }
        statements = [sql.ENTER, sql.INSERT_MEMORY, sql.INSERT_MEMORY_VECTOR, sql.INSERT_REVISION]
        [[row]] = await self._run(statements, parameters, read=[1])
        return row

    async def search_text(self, query: str) -> list[Row]:
        parameters = {**_of(self.tenant), "query": query}
        [rows] = await self._run([sql.ENTER, sql.ENTER_TEXT, sql.by_text(TOP_K)], parameters, read=[2])
        return rows

    async def search_semantic(self, query: str) -> list[Row]:
        statements = [sql.ENTER, sql.ENTER_GRAPH, self._by_vector(TOP_K, sql.COLUMNS)]
        vector = await self._embed(query, EmbeddingKind.QUERY)
        [rows] = await self._run(statements, self._searched(vector), read=[2])
        return rows

    async def search_hybrid(self, query: str) -> list[Row]:
        """Both legs in one round trip, the ten best rows in a second."""
        vector = await self._embed(query, EmbeddingKind.QUERY)
        parameters = {**self._searched(vector), "query": query}
        async with self.pool.connection() as connection, connection.pipeline():
            await connection.execute(sql.ENTER, parameters)
            await connection.execute(sql.ENTER_TEXT, parameters)
            text = await connection.execute(sql.by_text(CANDIDATES, KEY), parameters)
            await connection.execute(sql.LEAVE_TEXT)
            await connection.execute(sql.ENTER_GRAPH, parameters)
            near = await connection.execute(self._by_vector(CANDIDATES, KEY), parameters)
            legs = (
                [
                    Candidate(row["memory_id"], row["score"], row["update_time"])
                    for row in await text.fetchall()
                ],
                [
                    Candidate(row["memory_id"], 1 - row["distance"], row["update_time"])
                    for row in await near.fetchall()
                ],
            )
            best = [found.item_id for found in fuse(*legs, Fusion(), top_k=TOP_K)]
            found = await connection.execute(sql.BY_IDS, {**parameters, "memory_ids": best})
            rows = {row["memory_id"]: row for row in await found.fetchall()}
        return [rows[memory_id] for memory_id in best]

    def _by_vector(self, limit: int, columns: str) -> str:
        return sql.by_vector(
            exact=self.tenant.rows <= EXACT_THRESHOLD,
            dimension=self.embedder.dimension,
            model_id=MODEL_ID,
            limit=limit,
            columns=columns,
        )

    def _searched(self, vector: str) -> dict[str, Any]:
        return {**_of(self.tenant), "vector": vector, "ef_search": EF_SEARCH}

    async def _embed(self, text: str, kind: EmbeddingKind) -> str:
        [vector] = await self.embedder.embed([text], kind)
        return vector_text(vector)

    async def _run(
        self, statements: Sequence[str], parameters: dict[str, Any], *, read: Sequence[int]
    ) -> list[list[Row]]:
        """One transaction in one round trip, its end included; answers the rows of the statements in `read`."""
        async with self.pool.connection() as connection, connection.pipeline():
            async with connection.transaction():
                cursors = [await connection.execute(statement, parameters) for statement in statements]
            return [await cursors[number].fetchall() for number in read]


def _of(tenant: Tenant) -> dict[str, Any]:
    return {"project_id": tenant.project_id, "store_id": tenant.store_id}


def _written(tenant: Tenant, scope: Scope, content: str) -> dict[str, Any]:
    return {
        **_of(tenant),
        "model_id": MODEL_ID,
        "scope_key": scope.key,
        "user_id": scope.user_id,
        "session_id": scope.session_id,
        "content": content,
    }
