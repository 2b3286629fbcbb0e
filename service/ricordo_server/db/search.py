"""The two legs of a search, over memories and turns alike. Both answer candidates with raw scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Table,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    true,
)

from ricordo_server.db.conditions import in_tenant, is_among, one_of
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.rows import vector_text
from ricordo_server.db.sql import load_sql
from ricordo_server.domain.fusion import Candidate
from ricordo_server.domain.ports import Vector

# Up to this many rows that can match, comparing every vector costs little more than the graph at its best (a tenant
# alone in its partition), much less than at its worst (a small one beside large ones), and misses none: measured by
# benchmarks/crossover.py (see benchmarks/README.md).
EXACT_THRESHOLD = 4_000

TEXT_QUERY: ColumnElement[Any] = literal_column("current_setting('ricordo.text_query')::tsquery")


@dataclass(frozen=True)
class Searched:
    """A table with its vectors, and which of its rows may be found."""

    table: Table
    vectors: Table
    id: str
    recency: str
    condition: ColumnElement[bool]

    @property
    def columns(self) -> list[ColumnElement[Any]]:
        return [self.table.c[self.id].label("item_id"), self.table.c[self.recency].label("recency")]


@dataclass(frozen=True)
class VectorLeg:
    candidates: Sequence[Candidate]
    exact: bool


async def search_by_text(
    connection: TenantConnection, searched: Searched, query: str, limit: int, also: Sequence[str] = ()
) -> list[Candidate]:
    """Rows with any of the query's words, by ts_rank; under the role whose policy lets the GIN index serve.

    The policy itself holds `tsv @@ query`, so the statement does not. Those of the ids in `also` that have a word
    follow when they rank below `limit`: fusion knows the text score of every row that the other leg found.
    """
    await connection.execute(
        load_sql("enter_text_leg"), {"query": query, "languages": list(connection.languages_in_use)}
    )
    score = func.ts_rank(searched.table.c.tsv, TEXT_QUERY).label("score")
    statement = select(*searched.columns, score).where(
        in_tenant(searched.table, connection), searched.condition
    )
    best = await connection.execute(_best(statement, score.desc()).limit(limit))
    chosen = statement.where(one_of(searched.table.c[searched.id], also))
    others = await connection.fetch_all(chosen) if also else []
    await connection.execute(load_sql("leave_text_leg"))
    leg = {row["item_id"]: Candidate(**row) for row in await best.fetchall()}
    beyond = [Candidate(**row, beyond=True) for row in others if row["item_id"] not in leg]
    return [*leg.values(), *beyond]


def _best(statement: Select[Any], order: ColumnElement[Any]) -> Select[Any]:
    """Ties by recency, then id, as the answer promises."""
    return statement.order_by(order, literal_column("recency").desc(), literal_column("item_id"))


async def search_by_vector(
    connection: TenantConnection, searched: Searched, vector: Vector, limit: int
) -> VectorLeg:
    """Rows nearest to the vector, by cosine similarity of their best chunk.

    Exact below the threshold; above, HNSW with an iterative scan. When HNSW comes back short though more rows
    match, the exact answer stands instead: never short silently.
    """
    await connection.execute(load_sql("force_custom_plans"))
    matches = await count_matches(connection, searched)
    if matches == 0:
        return VectorLeg((), exact=True)
    if matches <= EXACT_THRESHOLD:
        return VectorLeg(await _exact(connection, searched, vector, limit), exact=True)
    found = await _approximate(connection, searched, vector, limit)
    if len(found) < limit:
        return VectorLeg(await _exact(connection, searched, vector, limit), exact=True)
    return VectorLeg(found, exact=False)


async def count_matches(connection: TenantConnection, searched: Searched) -> int:
    """Counts no further than the decision needs."""
    matches: Select[Any] = select(literal_column("1")).select_from(searched.table)
    matches = matches.where(in_tenant(searched.table, connection), searched.condition)
    capped = matches.limit(EXACT_THRESHOLD + 1).subquery()
    row = await connection.fetch_one(select(func.count().label("matches")).select_from(capped))
    return int(row["matches"]) if row else 0


async def _exact(
    connection: TenantConnection, searched: Searched, vector: Vector, limit: int
) -> list[Candidate]:
    """Without the cast the ordering cannot use the index: that is how an exact scan is asked for."""
    vectors, item_id = searched.vectors, searched.vectors.c[searched.id]
    distance = func.min(vectors.c.embedding.op("<=>")(bindparam("vector", type_=HALFVEC()))).label("distance")
    nearest = (
        select(item_id, distance)
        .where(of_matching(connection, searched))
        .group_by(item_id)
        .order_by(distance)
        .fetch(limit, with_ties=True)
        .subquery()
    )
    row = _row_of(connection, searched, nearest.c[searched.id])
    statement = select(*row.c, nearest.c.distance).select_from(nearest.join(row, true()))
    return await _fetch(connection, _best(statement, nearest.c.distance.asc()).limit(limit), vector)


async def _approximate(
    connection: TenantConnection, searched: Searched, vector: Vector, limit: int
) -> list[Candidate]:
    await connection.execute(load_sql("enter_vector_leg"))
    vectors, dimension = searched.vectors, HALFVEC(connection.embedding_model.dimension)
    distance = vectors.c.embedding.cast(dimension).op("<=>")(bindparam("vector", type_=dimension))
    row = _row_of(connection, searched, vectors.c[searched.id])
    statement = (
        select(*row.c, distance.label("distance"))
        .select_from(vectors.join(row, true()))
        .where(_of_model(connection, vectors))
        .order_by(distance)
        .limit(limit)
    )
    return await _fetch(connection, statement, vector)


def of_matching(connection: TenantConnection, searched: Searched) -> ColumnElement[bool]:
    """Vectors of the rows that may be found."""
    ids = select(searched.table.c[searched.id]).where(in_tenant(searched.table, connection))
    found = is_among(searched.vectors.c[searched.id], ids.where(searched.condition))
    return and_(_of_model(connection, searched.vectors), found)


def _of_model(connection: TenantConnection, vectors: Table) -> ColumnElement[bool]:
    """Literals where the partial index has literals."""
    is_read = vectors.c.model_id == literal_column(str(connection.embedding_model.model_id))
    return and_(in_tenant(vectors, connection), is_read, vectors.c.embedding.is_not(None))


def _row_of(connection: TenantConnection, searched: Searched, item_id: ColumnElement[str]) -> FromClause:
    """The row of a vector, if it may be found, looked up by its key.

    LIMIT keeps PostgreSQL from making a join of it, see `is_among`.
    """
    table = searched.table
    found = select(*searched.columns).where(in_tenant(table, connection), table.c[searched.id] == item_id)
    return found.where(searched.condition).limit(1).lateral()


async def _fetch(connection: TenantConnection, statement: Select[Any], vector: Vector) -> list[Candidate]:
    """The first row of an item is its best chunk."""
    rows = await connection.fetch_all(statement, {"vector": vector_text(vector)})
    best: dict[str, Candidate] = {}
    for row in rows:
        best.setdefault(row["item_id"], Candidate(row["item_id"], 1 - row["distance"], row["recency"]))
    return list(best.values())


async def get_vectors(
    connection: TenantConnection, searched: Searched, item_ids: Sequence[str], vector: Vector | None
) -> dict[str, list[float]]:
    """The vector of each item's best chunk for the query vector, or of its first chunk without one."""
    vectors = searched.vectors
    item_id = vectors.c[searched.id]
    order = (
        vectors.c.embedding.op("<=>")(bindparam("vector", type_=HALFVEC())) if vector else vectors.c.chunk_no
    )
    place = func.row_number().over(partition_by=item_id, order_by=order).label("place")
    ranked = (
        select(item_id.label("item_id"), vectors.c.embedding, place)
        .where(in_tenant(vectors, connection), one_of(item_id, item_ids))
        .where(vectors.c.model_id == connection.embedding_model.model_id, vectors.c.embedding.is_not(None))
        .subquery()
    )
    statement = select(ranked.c.item_id, ranked.c.embedding).where(ranked.c.place == 1)
    rows = await connection.fetch_all(statement, {"vector": vector_text(vector)} if vector else {})
    return {row["item_id"]: [float(part) for part in row["embedding"][1:-1].split(",")] for row in rows}
