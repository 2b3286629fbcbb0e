"""When a memory ends that is written now, where its writer does not say."""

from dataclasses import replace
from datetime import UTC, datetime

from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.memory import MemoryChanges, MemoryDraft
from ricordo_server.domain.retention import Write


def store_expire_time(connection: TenantConnection, write: Write) -> datetime | None:
    """As the store or its project has it; None where they let it be."""
    return connection.retention.expire_time(write, datetime.now(UTC))


def with_expiry(connection: TenantConnection, draft: MemoryDraft, write: Write) -> MemoryDraft:
    if draft.expire_time is not None:
        return draft
    return replace(draft, expire_time=store_expire_time(connection, write))


def prolonged(connection: TenantConnection, changes: MemoryChanges, write: Write) -> MemoryChanges:
    """A change counts a store's time to live anew, unless it says itself when the memory ends."""
    expire_time = store_expire_time(connection, write)
    if expire_time is None or "expire_time" in changes:
        return changes
    return {**changes, "expire_time": expire_time}
