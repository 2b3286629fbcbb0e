"""Writes of memories that requests and consolidation share, inside the transaction of whoever calls."""

from collections.abc import Sequence

from uuid_utils.compat import uuid7

from ricordo_server.app import embeddings
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import attributes as attributes_db
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sources import carry_sources
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.memory import Memory, MemoryDraft, RevisionAction
from ricordo_server.domain.retention import DEFAULT_OPTIONS, RevisionOptions


async def insert_drafts(
    connection: TenantConnection,
    drafts: Sequence[tuple[MemoryDraft, VectorsByModel]],
    options: RevisionOptions = DEFAULT_OPTIONS,
    *,
    is_extracted: bool = False,
) -> list[Memory | DomainError]:
    """Rows, vectors and first revisions; KEY_TAKEN or ID_TAKEN in place of what could not be inserted."""
    named = [(draft.memory_id or str(uuid7()), draft) for draft, _ in drafts]
    stored = await memories_db.insert_memories(connection, named)
    embedded = [
        (memory, vectors) for memory, (_, vectors) in zip(stored, drafts, strict=True) if memory and vectors
    ]
    await vectors_db.store_memory_vectors(connection, embedded)
    await attributes_db.write_attributes(connection, [memory for memory in stored if memory], new=True)
    memory_ids = [memory.memory_id for memory in stored if memory]
    await keep_revisions(connection, memory_ids, RevisionAction.CREATED, options, is_extracted=is_extracted)
    return [
        embeddings.marked(memory, connection.embedding_model, vectors)
        if memory
        else await _why_taken(connection, draft)
        for memory, (draft, vectors) in zip(stored, drafts, strict=True)
    ]


async def _why_taken(connection: TenantConnection, draft: MemoryDraft) -> DomainError:
    if draft.memory_id and await memories_db.memory_exists(connection, draft.memory_id):
        message = f"the id {draft.memory_id!r} is in use in this store: choose another, or none"
        return DomainError(Reason.ID_TAKEN, message, "memory.memory_id")
    message = f"a live memory of this kind and scope has the key {draft.key!r}: use PutMemory to replace it"
    return DomainError(Reason.KEY_TAKEN, message, "memory.key")


async def mark_deleted(connection: TenantConnection, memory_id: str, expected: int | None) -> Memory | None:
    """Leaves a live memory out of every read; None when it is absent, at another revision, or not to be written."""
    deleted = await memories_db.delete_memory(connection, memory_id, expected)
    if deleted is not None:
        await _follow_deletion(connection, [deleted])
    return deleted


async def mark_all_deleted(connection: TenantConnection, memory_ids: Sequence[str]) -> int:
    """The same of many at once; answers how many there were."""
    deleted = await memories_db.delete_memories(connection, memory_ids)
    if deleted:
        await _follow_deletion(connection, deleted)
    return len(deleted)


async def _follow_deletion(connection: TenantConnection, deleted: Sequence[Memory]) -> None:
    """Revisions, what they rest on, and the end of the vectors."""
    if not connection.may_publish:
        for memory in deleted:
            await attributes_db.set_attribute_visibility(connection, memory)
    memory_ids = [memory.memory_id for memory in deleted]
    await keep_revisions(connection, memory_ids, RevisionAction.DELETED)
    await carry_sources(connection, memory_ids)
    await vectors_db.drop_vectors_of_all(connection, memory_ids)
