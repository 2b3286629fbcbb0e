"""Statements on vectors."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Table, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_tenant, one_of
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.rows import vector_text
from ricordo_server.db.tables import memory, memory_embedding, turn_embedding
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.memory import Memory
from ricordo_server.domain.scope import Visibility
from ricordo_server.domain.session import Turn
from ricordo_server.domain.shared_loop import in_slices

# In place of a vector: the model has been asked, and has none for this text.
REFUSED = None


def _insert(table: Table) -> Any:
    new = {column.name: bindparam(f"new_{column.name}", type_=column.type) for column in table.c}
    return upsert(table).values(new).on_conflict_do_nothing()


INSERT_MEMORY_VECTOR = _insert(memory_embedding)
INSERT_TURN_VECTOR = _insert(turn_embedding)


async def store_memory_vectors(
    connection: TenantConnection, embedded: Sequence[tuple[Memory, VectorsByModel]]
) -> None:
    """One row for each chunk and each model that the project uses; what is there already stays."""
    rows = [
        {
            "memory_id": stored.memory_id,
            "kind": stored.kind,
            "visibility": stored.visibility,
            "user_id": stored.scope.user_id,
            **columns,
        }
        async for stored, vectors in in_slices(embedded)
        for columns in _vector_columns(connection, vectors)
    ]
    await _insert_all(connection, INSERT_MEMORY_VECTOR, rows)


async def store_turn_vectors(
    connection: TenantConnection, embedded: Sequence[tuple[Turn, VectorsByModel]]
) -> None:
    """As `store_memory_vectors`."""
    rows = [
        {"turn_id": turn.turn_id, "user_id": turn.scope.user_id, **columns}
        async for turn, vectors in in_slices(embedded)
        for columns in _vector_columns(connection, vectors)
    ]
    await _insert_all(connection, INSERT_TURN_VECTOR, rows)


def _vector_columns(connection: TenantConnection, vectors: VectorsByModel) -> Iterator[dict[str, Any]]:
    for model in connection.models.in_use:
        if model.model_id in vectors:
            texts: list[str | None] = [vector_text(vector) for vector in vectors[model.model_id]]
            for number, text in enumerate(texts or [REFUSED]):
                yield {
                    **connection.key,
                    "model_id": model.model_id,
                    "chunk_no": number,
                    "embedding": text,
                }


async def _insert_all(connection: TenantConnection, statement: Any, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        parameters = [{f"new_{name}": value for name, value in row.items()} for row in rows]
        await connection.execute_many(statement, parameters)


async def drop_memory_vectors(connection: TenantConnection, memory_id: str) -> None:
    """Those of every model: the text they stand for is gone."""
    await drop_vectors_of_all(connection, [memory_id])


async def drop_vectors_of_all(connection: TenantConnection, memory_ids: Sequence[str]) -> None:
    if memory_ids:
        of_memories = one_of(memory_embedding.c.memory_id, memory_ids)
        await connection.execute(
            delete(memory_embedding).where(in_tenant(memory_embedding, connection), of_memories)
        )


async def set_vector_visibility(connection: TenantConnection, memory_id: str, visibility: Visibility) -> None:
    """The copy that the policy of the vectors reads."""
    await connection.execute(
        update(memory_embedding)
        .where(in_tenant(memory_embedding, connection), memory_embedding.c.memory_id == memory_id)
        .values(visibility=visibility)
    )


async def lock_memory_at_revision(connection: TenantConnection, memory_id: str, revision: int) -> bool:
    """Whether the memory still is what was embedded; it stays so until the transaction ends."""
    statement = (
        select(memory.c.memory_id)
        .where(in_tenant(memory, connection), memory.c.memory_id == memory_id, memory.c.revision == revision)
        .where(memory.c.delete_time.is_(None))
        .with_for_update()
    )
    return await connection.fetch_one(statement) is not None
