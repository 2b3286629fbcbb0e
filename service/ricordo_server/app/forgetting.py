"""What was learned from turns goes with them, inside the transaction that deletes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo_server.app.document_forgetting import forget_lines
from ricordo_server.app.extraction_jobs import defer_extraction
from ricordo_server.db import attributes as attributes_db
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import held_memories as held_db
from ricordo_server.db import idempotency
from ricordo_server.db import memories as memories_db
from ricordo_server.db import pipelines as pipelines_db
from ricordo_server.db import revisions as revisions_db
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db import sources as sources_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.jobs import defer_job
from ricordo_server.domain.forgetting import Forgetting, forget
from ricordo_server.domain.memory import RESTORED_FIELDS, MemoryKind, RevisionAction
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.snapshot import ExtractionState

# The job that has other stores forget, and how many turns one of them names: its arguments are small.
FORGET_ELSEWHERE = "forget_elsewhere"
MOST_TURNS_A_JOB = 90


@dataclass(frozen=True)
class Forgotten:
    """How many memories went, and how many say again what they said before."""

    removed: int = 0
    restored: int = 0

    def __add__(self, other: "Forgotten") -> "Forgotten":
        return Forgotten(self.removed + other.removed, self.restored + other.restored)


@dataclass(frozen=True)
class RemovedTurns:
    """How many turns went, and what became of the memories that were learned from them."""

    count: int = 0
    forgotten: Forgotten = Forgotten()

    def __add__(self, other: "RemovedTurns") -> "RemovedTurns":
        return RemovedTurns(self.count + other.count, self.forgotten + other.forgotten)


async def remove_turns(
    connection: TenantConnection, scope: Scope, turn_ids: Sequence[str] | None = None
) -> RemovedTurns:
    """Removes turns of a session, all unless some are named, and what was learned from these alone.

    The session is held: a turn recorded meanwhile comes after. What snapshots say of them in short goes too, and so
    do the kept answers.
    """
    await usage_db.discount_turns(connection, scope, turn_ids)
    removed = await turns_db.delete_turns(connection, scope, turn_ids)
    await snapshots_db.clear_summaries(connection, scope, list(removed.values()))
    await idempotency.forget_answers_of_turns(connection, list(removed))
    if removed and await pipelines_db.feeds_others(connection):
        await _defer_elsewhere(connection, list(removed))
    return RemovedTurns(len(removed), await forget_turns(connection, list(removed)))


async def _defer_elsewhere(connection: TenantConnection, turn_ids: Sequence[str]) -> None:
    for first in range(0, len(turn_ids), MOST_TURNS_A_JOB):
        named = turn_ids[first : first + MOST_TURNS_A_JOB]
        arguments = {"store_id": connection.store_name, "turn_ids": list(named)}
        await defer_job(connection, FORGET_ELSEWHERE, arguments)


async def forget_turns(connection: TenantConnection, turn_ids: Sequence[str]) -> Forgotten:
    """Removes, or takes back to what rests on other turns, what does not stand without these.

    Turns that were quoted together with one of them are read again, in the background.
    """
    of_documents = await forget_lines(connection, turn_ids)
    supports = await sources_db.list_supports(connection, turn_ids)
    remainders = await sources_db.list_remainders(connection, turn_ids)
    removed = restored = 0
    to_read: set[tuple[str, MemoryKind]] = set()
    for memory_id, revisions in supports.items():
        forgetting = of_documents.get(memory_id) or forget(revisions)
        await _apply(connection, memory_id, forgetting)
        removed += forgetting.purge
        restored += forgetting.restore is not None
        if forgetting != Forgetting():
            to_read |= remainders.get(memory_id, set())
    await sources_db.delete_sources(connection, turn_ids)
    await held_db.forget_held(connection, turn_ids)
    for snapshot_id, kind in sorted(to_read):
        await _read_again(connection, snapshot_id, kind)
    return Forgotten(removed, restored)


async def _read_again(connection: TenantConnection, snapshot_id: str, kind: MemoryKind) -> None:
    """Unless it waits anyway, or is gone with its session."""
    scope = await snapshots_db.reopen_extraction(connection, snapshot_id, kind, was=ExtractionState.DONE)
    if scope is not None:
        await defer_extraction(connection, scope, snapshot_id, kind)


async def _apply(connection: TenantConnection, memory_id: str, forgetting: Forgetting) -> None:
    if forgetting.purge:
        await usage_db.discount_memory(connection, memory_id)
        await memories_db.purge_memory(connection, memory_id, None)
    elif forgetting.restore is not None:
        await _restore(connection, memory_id, forgetting.restore)
    if forgetting.purge or forgetting.remove:
        await idempotency.forget_answers(connection, memory_id)
    if forgetting.remove:
        await usage_db.discount_revisions(connection, memory_id, forgetting.remove)
        await revisions_db.delete_revisions(connection, memory_id, forgetting.remove)


async def _restore(connection: TenantConnection, memory_id: str, revision: int) -> None:
    """Housekeeping embeds it anew: no model is waited for while rows are locked. No quota stands in the way."""
    past = await revisions_db.get_revision(connection, memory_id, revision, include_expired=True)
    current = (await memories_db.get_memories(connection, [memory_id], include_deleted=True)).get(memory_id)
    if past is None or current is None:  # expired: nobody reads it, and the sweep has it
        return
    changes = {name: getattr(past.memory, name) for name in RESTORED_FIELDS}
    restored = await memories_db.restore_memory(connection, memory_id, changes, current.revision)
    if restored is None:
        return
    await attributes_db.write_attributes(connection, [restored])
    await revisions_db.write_revisions(connection, [memory_id], RevisionAction.UPDATED)
    await usage_db.count_memories(connection, [memory_id], created=False)
    await sources_db.copy_sources(connection, memory_id, revision, restored.revision)
    await vectors_db.drop_memory_vectors(connection, memory_id)
