"""A memory made what it was at a revision."""

from functools import partial

from ricordo_server.app import embeddings
from ricordo_server.app.declarations import declare_draft
from ricordo_server.app.memories import not_found
from ricordo_server.app.memory_rules import check_written
from ricordo_server.app.permissions import check_may_publish, check_may_write, denied
from ricordo_server.app.profiles import check_profile
from ricordo_server.app.revisions import check_revision, revision_not_found
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import write_store
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import attributes as attributes_db
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db import revisions as revisions_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.projects import hold_settings
from ricordo_server.db.sources import copy_sources
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.memory import (
    RESTORED_FIELDS,
    Memory,
    MemoryDraft,
    RevisionAction,
)


async def rollback_memory(
    services: Services,
    call: Call,
    store_id: str,
    memory_id: str,
    target_revision: int,
    *,
    expected_revision: int | None,
) -> Memory:
    """Writes what the revision says as a new revision; a deleted memory comes back. When it ends stays as it is.

    Raises:
        DomainError: MEMORY_NOT_FOUND, REVISION_NOT_FOUND, REVISION_NOT_LIVE, REVISION_MISMATCH, KEY_TAKEN,
            PERMISSION_DENIED, INVALID_FIELD (metadata that the project declares otherwise by now).
    """
    check_may_write(call.principal)
    work = partial(_restore, memory_id=memory_id, revision=target_revision, expected=expected_revision)
    try:
        written = await write_store(services.database, call, store_id, work)
    except DomainError as error:
        if error.reason is not Reason.ID_TAKEN:
            raise
        # The one unique rule that a row which is already there can break is that of live keys.
        message = "another live memory of this kind and scope has the key by now: delete that one first"
        raise DomainError(Reason.KEY_TAKEN, message, "memory_id") from error
    return await embeddings.complete_vectors(services, call, store_id, written, lambda memory: memory)


async def _restore(
    connection: TenantConnection, *, memory_id: str, revision: int, expected: int | None
) -> Memory:
    connection = await hold_settings(connection)
    current = (await memories_db.get_memories(connection, [memory_id], include_deleted=True)).get(memory_id)
    if current is None:
        raise not_found(memory_id)
    check_revision(current.revision, expected, "memory")
    past = await _past(connection, memory_id, revision)
    check_may_publish(connection, past.visibility, "target_revision")
    changes = {name: getattr(past, name) for name in RESTORED_FIELDS}
    changes["metadata"] = declare_draft(connection.settings, _as_draft(past)).metadata
    written = await memories_db.restore_memory(connection, memory_id, changes, current.revision)
    if written is None:
        raise await _why_not_restored(connection, current)
    check_written(written)
    check_profile(connection, written)
    await attributes_db.write_attributes(connection, [written])
    await keep_revisions(connection, [memory_id], RevisionAction.UPDATED)
    await copy_sources(connection, memory_id, revision, written.revision)
    await vectors_db.drop_memory_vectors(connection, memory_id)
    return embeddings.marked(written, connection.embedding_model, {})


async def _past(connection: TenantConnection, memory_id: str, revision: int) -> Memory:
    found = await revisions_db.get_revision(connection, memory_id, revision)
    if found is None:
        raise revision_not_found(memory_id, revision)
    if found.action is RevisionAction.DELETED:
        message = f"revision {revision} is the deletion itself: roll back to an earlier one"
        raise DomainError(Reason.REVISION_NOT_LIVE, message, "target_revision")
    return found.memory


def _as_draft(past: Memory) -> MemoryDraft:
    return MemoryDraft(past.kind, past.content, custom_type=past.custom_type, metadata=past.metadata)


async def _why_not_restored(connection: TenantConnection, current: Memory) -> DomainError:
    found = await memories_db.get_memories(connection, [current.memory_id], include_deleted=True)
    if found and found[current.memory_id].revision == current.revision:
        return denied("this credential may read this memory but not change it", field="memory_id")
    return DomainError(Reason.WRITE_CONFLICT, "the memory changed meanwhile: try again")
