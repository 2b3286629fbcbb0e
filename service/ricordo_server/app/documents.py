"""What people do with many memories, or with a document as a file: delete what matches, move."""

from dataclasses import dataclass

from ricordo_server.app.declarations import check_query_declared
from ricordo_server.app.lifetimes import prolonged
from ricordo_server.app.memories import why_untouched
from ricordo_server.app.memory_writes import mark_all_deleted
from ricordo_server.app.permissions import check_may_read_as, check_may_write
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import write_store
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sources import copy_sources
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.limits import MAX_BATCH_ITEMS
from ricordo_server.domain.memory import Memory, MemoryKind, MemoryQuery, RevisionAction
from ricordo_server.domain.retention import Write


@dataclass(frozen=True)
class DeletedMemories:
    """How many matched, and how many of them were deleted."""

    matching: int
    deleted: int = 0


async def delete_memories(
    services: Services, call: Call, store_id: str, query: MemoryQuery, *, force: bool
) -> DeletedMemories:
    """Marks some of the memories that match deleted, 500 at most; without `force` counts them.

    Raises:
        DomainError: PERMISSION_DENIED, INVALID_FILTER.
    """
    check_may_write(call.principal)
    check_may_read_as(call.principal, query.scope)

    async def work(connection: TenantConnection) -> DeletedMemories:
        check_query_declared(connection.settings, query)
        matching = await memories_db.count_writable(connection, query)
        going = await memories_db.lock_matching(connection, query, MAX_BATCH_ITEMS) if force else []
        return DeletedMemories(matching, await mark_all_deleted(connection, going))

    return await write_store(services.database, call, store_id, work)


async def move_memory(
    services: Services, call: Call, store_id: str, memory_id: str, key: str, *, expected_revision: int | None
) -> Memory:
    """Gives a document another path. Its vectors stay: they do not read the path.

    Raises:
        DomainError: MEMORY_NOT_FOUND, KEY_TAKEN, REVISION_MISMATCH, PERMISSION_DENIED, INVALID_FIELD (no document).
    """
    check_may_write(call.principal)

    async def work(connection: TenantConnection) -> Memory:
        current = (await memories_db.get_memories(connection, [memory_id])).get(memory_id)
        if current and current.kind is not MemoryKind.DOCUMENT:
            raise invalid_field("memory_id", f"only documents move: this is a {current.kind} memory")
        if current:
            await memories_db.release_key(connection, current, key)
        changes = prolonged(connection, {"key": key}, Write.CHANGED)
        written = await memories_db.update_memory(connection, memory_id, changes, expected_revision)
        if written is None:
            raise await why_untouched(connection, memory_id, expected_revision)
        await keep_revisions(connection, [memory_id], RevisionAction.UPDATED)
        await copy_sources(connection, memory_id, written.revision - 1, written.revision)
        return written

    try:
        return await write_store(services.database, call, store_id, work)
    except DomainError as error:
        if error.reason is not Reason.ID_TAKEN:
            raise
        # The one unique rule that a row which is already there can break is that of live keys.
        message = f"there is a document at {key!r} already: move or delete that one first"
        raise DomainError(Reason.KEY_TAKEN, message, "key") from error
