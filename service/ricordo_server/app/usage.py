"""What writes add to a project's usage, and the refusal of those beyond its quota, in the write's own transaction.

A call does not see what others that are under way write: together they may go beyond by what they hold.
"""

from collections.abc import Sequence

from ricordo_server.db import revisions as revisions_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.memory import RevisionAction
from ricordo_server.domain.project_limits import quota_exceeded
from ricordo_server.domain.retention import DEFAULT_OPTIONS, RevisionOptions


async def keep_revisions(
    connection: TenantConnection,
    memory_ids: Sequence[str],
    action: RevisionAction,
    options: RevisionOptions = DEFAULT_OPTIONS,
    *,
    is_extracted: bool = False,
) -> None:
    """Writes a revision of each memory as it stands now, and counts it. A deletion is never beyond a quota.

    `is_extracted`: what the memories say is what turns or given facts say.

    Raises:
        DomainError: QUOTA_EXCEEDED.
    """
    async with connection.pipeline():
        await revisions_db.write_revisions(connection, memory_ids, action, options, is_extracted=is_extracted)
        await usage_db.count_memories(connection, memory_ids, created=action is RevisionAction.CREATED)
    if action is not RevisionAction.DELETED:
        await _check_quota(connection)


async def count_turns(connection: TenantConnection, turn_ids: Sequence[str]) -> None:
    """Raises DomainError: QUOTA_EXCEEDED."""
    if turn_ids:
        await usage_db.count_turns(connection, turn_ids)
        await _check_quota(connection)


async def _check_quota(connection: TenantConnection) -> None:
    """The sum is asked for only where there is a limit."""
    limits = {name: getattr(connection.limits, name) for name in usage_db.STORED}
    if not any(value is not None for value in limits.values()):
        return
    used, _ = await usage_db.read_usage(connection)
    for name, value in limits.items():
        if value is not None and getattr(used, name) > value:
            raise quota_exceeded(name, value, getattr(used, name))
