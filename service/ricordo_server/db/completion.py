"""Statements on what is incomplete: rows without vectors of a model in use, and vectors of models not in use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Integer,
    Select,
    Table,
    and_,
    delete,
    exists,
    func,
    literal,
    select,
    true,
)

from ricordo_server.db.conditions import in_tenant, is_live, one_of, same_row
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sql import load_sql
from ricordo_server.db.tables import memory, memory_embedding, turn, turn_embedding
from ricordo_server.domain.embedding_model import EmbeddingModel


@dataclass(frozen=True)
class Embedded:
    """A table of which each live row is embedded, and where its vectors stand."""

    table: Table
    vectors: Table
    id: str
    is_live: ColumnElement[bool]

    def live_rows(self, connection: TenantConnection, *columns: Any) -> Select[Any]:
        return select(*columns).select_from(self.table).where(in_tenant(self.table, connection), self.is_live)

    def has_row_of(
        self, connection: TenantConnection, model: EmbeddingModel, *, after: str = ""
    ) -> ColumnElement[bool]:
        """Vectors of the model, or the mark that it has none for this text; of rows behind `after`.

        Without that bound a merge would begin at the tenant's first vector for each batch.
        """
        vectors = self.vectors
        of_model = and_(
            in_tenant(vectors, connection), vectors.c.model_id == model.model_id, vectors.c[self.id] > after
        )
        return exists(select(1).where(same_row(self.table, self.vectors, self.id), of_model))


MEMORIES = Embedded(memory, memory_embedding, "memory_id", is_live(memory))
TURNS = Embedded(turn, turn_embedding, "turn_id", true())


@dataclass(frozen=True)
class ModelCount:
    """Rows that have vectors of a model or the mark of a refusal, and how many of them have the mark."""

    done: int = 0
    refused: int = 0

    def __add__(self, other: "ModelCount") -> "ModelCount":
        return ModelCount(self.done + other.done, self.refused + other.refused)


async def find_incomplete(
    connection: TenantConnection, embedded: Embedded, model: EmbeddingModel, after: str, limit: int
) -> list[str]:
    """Ids of live rows that lack the model's vectors, in order, beginning behind `after`."""
    await connection.execute(load_sql("force_custom_plans"))
    item_id = embedded.table.c[embedded.id]
    statement = (
        embedded.live_rows(connection, item_id.label("item_id"))
        .where(item_id > after, ~embedded.has_row_of(connection, model, after=after))
        .order_by(item_id)
        .limit(limit)
    )
    return [row["item_id"] for row in await connection.fetch_all(statement)]


async def lock_memories(connection: TenantConnection, revisions: Mapping[str, int]) -> set[str]:
    """Of these ids the live ones that are at their revision still; they stay so until the transaction ends."""
    statement = (
        select(memory.c.memory_id, memory.c.revision)
        .where(in_tenant(memory, connection), one_of(memory.c.memory_id, list(revisions)))
        .where(memory.c.delete_time.is_(None))
        .order_by(memory.c.memory_id)
        .with_for_update(read=True)
    )
    rows = await connection.fetch_all(statement)
    return {row["memory_id"] for row in rows if revisions[row["memory_id"]] == row["revision"]}


async def lock_turns(connection: TenantConnection, turn_ids: Sequence[str]) -> set[str]:
    """Those that are there still; they stay until the transaction ends. The text of a turn never changes."""
    statement = (
        select(turn.c.turn_id)
        .where(in_tenant(turn, connection), one_of(turn.c.turn_id, turn_ids))
        .order_by(turn.c.turn_id)
        .with_for_update(read=True, key_share=True)
    )
    return {row["turn_id"] for row in await connection.fetch_all(statement)}


async def count_rows(connection: TenantConnection, embedded: Embedded) -> int:
    row = await connection.fetch_one(embedded.live_rows(connection, func.count().label("rows")))
    return int(row["rows"]) if row else 0


async def count_by_model(connection: TenantConnection, embedded: Embedded) -> dict[int, ModelCount]:
    """Of every model that has any row here, in use or not. The first chunk stands for its row."""
    vectors = embedded.vectors
    statement = (
        select(
            vectors.c.model_id,
            func.count().label("done"),
            func.count().filter(vectors.c.embedding.is_(None)).label("refused"),
        )
        .select_from(vectors.join(embedded.table, same_row(embedded.table, vectors, embedded.id)))
        .where(in_tenant(vectors, connection), in_tenant(embedded.table, connection), embedded.is_live)
        .where(vectors.c.chunk_no == 0)
        .group_by(vectors.c.model_id)
    )
    rows = await connection.fetch_all(statement)
    return {row["model_id"]: ModelCount(row["done"], row["refused"]) for row in rows}


async def count_lost_by_switch(
    connection: TenantConnection, embedded: Embedded, model: EmbeddingModel
) -> int:
    """Rows that reads find by the active model's vectors, and would not find by those of `model`."""
    vectors = embedded.vectors
    active = and_(
        in_tenant(vectors, connection),
        vectors.c.model_id == connection.embedding_model.model_id,
        vectors.c.embedding.is_not(None),
    )
    is_found = exists(select(1).where(same_row(embedded.table, vectors, embedded.id), active))
    statement = embedded.live_rows(connection, func.count().label("rows"))
    row = await connection.fetch_one(statement.where(is_found, ~embedded.has_row_of(connection, model)))
    return int(row["rows"]) if row else 0


async def find_unused(connection: TenantConnection, embedded: Embedded, after: str, limit: int) -> list[str]:
    """Ids of rows that have vectors of models not in use, in order, beginning behind `after`."""
    await connection.execute(load_sql("force_custom_plans"))
    item_id = embedded.vectors.c[embedded.id]
    statement = (
        select(item_id.label("item_id"))
        .where(_is_unused(connection, embedded.vectors), item_id > after)
        .distinct()
        .order_by(item_id)
        .limit(limit)
    )
    return [row["item_id"] for row in await connection.fetch_all(statement)]


async def drop_unused_vectors(
    connection: TenantConnection, embedded: Embedded, item_ids: Sequence[str]
) -> int:
    """Removes those of these rows; answers how many."""
    statement = delete(embedded.vectors).where(
        _is_unused(connection, embedded.vectors), one_of(embedded.vectors.c[embedded.id], item_ids)
    )
    return (await connection.execute(statement)).rowcount


def _is_unused(connection: TenantConnection, vectors: Table) -> ColumnElement[bool]:
    used = literal([model.model_id for model in connection.models.in_use], ARRAY(Integer))
    return and_(in_tenant(vectors, connection), vectors.c.model_id != func.all(used))
