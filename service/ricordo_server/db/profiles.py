"""Statements on the memories that are fields of profiles."""

from collections.abc import Sequence

from sqlalchemy import func

from ricordo_server.db.conditions import in_scope, is_live, one_of
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.memories import select_memories
from ricordo_server.db.memory_rows import memory_from
from ricordo_server.db.tables import memory
from ricordo_server.domain.limits import MAX_PROFILE_VALUE_BYTES
from ricordo_server.domain.memory import Memory, MemoryKind
from ricordo_server.domain.scope import Exactly, Scope


async def list_profile_memories(
    connection: TenantConnection, scope: Scope, keys: Sequence[str]
) -> list[Memory]:
    """The live ones of these keys in the exact scope; what was written before there were schemas may be too long."""
    statement = select_memories(connection).where(
        memory.c.kind == MemoryKind.PROFILE,
        in_scope(memory, Exactly(scope)),
        one_of(memory.c.key, keys),
        is_live(memory),
        func.octet_length(memory.c.content) <= MAX_PROFILE_VALUE_BYTES,
    )
    model = {"model_id": connection.embedding_model.model_id}
    return [memory_from(row, connection) for row in await connection.fetch_all(statement, model)]
