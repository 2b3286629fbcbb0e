"""From turns to snapshots: when it is time, in the transaction that sees that it is, under the session's lock.

So each turn is in exactly one snapshot, whatever dies when: a snapshot, its jobs and the session's move behind it are
committed together.
"""

from datetime import UTC, datetime, timedelta

from uuid_utils.compat import uuid7

from ricordo_server.app.extraction_jobs import defer_extraction
from ricordo_server.app.permissions import check_may_read_as, check_may_write_in
from ricordo_server.app.services import Services
from ricordo_server.app.sessions import not_found
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.jobs import defer_job
from ricordo_server.domain.call import Call
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.promotion import Backlog, Promotion, promotion_due, split_runs
from ricordo_server.domain.scope import Exactly, Scope, ScopeFilter
from ricordo_server.domain.snapshot import ExtractionStatus, KindProgress, PromotionCause, Snapshot

PROMOTE_IDLE = "promote_idle"
# A session that nobody promoted by then was forgotten: its job was given up.
OVERDUE = timedelta(hours=1)


def topic_vector(connection: TenantConnection, scope: Scope, vectors: VectorsByModel) -> Vector | None:
    """What a new turn is compared by with those before it; None where that is no trigger."""
    policy = connection.policy_for(scope)
    of_active = vectors.get(connection.embedding_model.model_id)
    is_asked = policy.enabled and policy.triggers.topic_shift is not None
    return of_active[0] if of_active and is_asked else None


async def note_turns(
    connection: TenantConnection, scope: Scope, first_new_seq: int, backlog: Backlog
) -> None:
    """New turns were recorded, from `first_new_seq` on, in a session that is held and has this backlog now.

    In the transaction that records them: so none is forgotten.
    """
    policy = connection.policy_for(scope)
    if not policy.enabled or not policy.kinds:
        return
    if due := promotion_due(policy.triggers, backlog, first_new_seq):
        await _promote(connection, scope, policy, backlog, due)
    if not backlog.is_pending:
        await snapshots_db.set_pending(connection, scope.key, pending=True)
        await _defer_idle(connection, scope.key, backlog.last_activity_time + policy.triggers.idle)


async def _defer_idle(connection: TenantConnection, scope_key: str, start_time: datetime) -> None:
    arguments = {"store_id": connection.store_name, "scope_key": scope_key}
    lock = f"{PROMOTE_IDLE}:{connection.store_id}:{scope_key}"
    await defer_job(
        connection, PROMOTE_IDLE, arguments, lock=lock, start_time=start_time, unless_waiting=True
    )


async def _promote(
    connection: TenantConnection, scope: Scope, policy: ExtractionPolicy, backlog: Backlog, due: Promotion
) -> list[str]:
    """Cuts the snapshots and defers a job for each of their kinds; answers the snapshots' ids."""
    runs = [(str(uuid7()), *run) for run in split_runs(backlog.promoted_seq, due.through_seq)]
    if not runs:
        return []
    await snapshots_db.insert_snapshots(
        connection, scope, runs, overlap=policy.triggers.overlap, cause=due.cause, kinds=policy.kinds
    )
    for snapshot_id, _, _ in runs:
        for kind in policy.kinds:
            await defer_extraction(connection, scope, snapshot_id, kind)
    return [snapshot_id for snapshot_id, _, _ in runs]


async def promote_idle(services: Services, call: Call, store_id: str, scope_key: str) -> None:
    """Promotes what a session's idle time has made due; when it was used meanwhile, comes back later."""
    async with in_store(services.database, call, store_id) as connection:
        found = await snapshots_db.lock_backlog(connection, scope_key)
        if found is None:
            return
        scope, backlog = found
        policy = connection.policy_for(scope)
        due_time = backlog.last_activity_time + policy.triggers.idle
        if policy.enabled and due_time > datetime.now(UTC):
            await _defer_idle(connection, scope_key, due_time)
            return
        if policy.enabled and policy.kinds:
            await _promote(
                connection, scope, policy, backlog, Promotion(backlog.last_seq, PromotionCause.IDLE)
            )
        await snapshots_db.set_pending(connection, scope_key, pending=False)


async def promote_session(services: Services, call: Call, store_id: str, scope: Scope) -> list[str]:
    """Promotes every turn of a session that is in no snapshot; answers the new snapshots' ids, in order.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write_in(call.principal, scope)

    async def work(connection: TenantConnection) -> list[str]:
        found = await snapshots_db.lock_backlog(connection, scope.key)
        if found is None:
            raise not_found(scope)
        _, backlog = found
        policy = connection.policy_for(scope)
        if not policy.kinds:
            return []
        requested = Promotion(backlog.last_seq, PromotionCause.REQUESTED)
        return await _promote(connection, scope, policy, backlog, requested)

    return await write_store(services.database, call, store_id, work)


async def promote_overdue(services: Services, call: Call, store_id: str, *, most: int) -> int:
    """Defers the job of sessions that lost it; answers how many."""
    async with in_store(services.database, call, store_id) as connection:
        idle = [policy.triggers.idle for policy in connection.policies if policy.enabled and policy.kinds]
        if not idle:
            return 0
        overdue = await snapshots_db.list_overdue(connection, age=max(idle) + OVERDUE, most=most)
        for scope_key in overdue:
            await _defer_idle(connection, scope_key, datetime.now(UTC))
    return len(overdue)


async def list_snapshots(
    services: Services, call: Call, store_id: str, scope: ScopeFilter, page: PageRequest
) -> Page[Snapshot]:
    """Oldest first."""
    check_may_read_as(call.principal, scope)
    async with in_store(services.database, call, store_id) as connection:
        return await snapshots_db.list_snapshots(connection, scope, [], page)


async def get_extraction_status(
    services: Services, call: Call, store_id: str, scope: Scope
) -> ExtractionStatus:
    """How far the extraction of a session is.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_read_as(call.principal, Exactly(scope))
    async with in_store(services.database, call, store_id) as connection:
        session = await sessions_db.get_session(connection, scope)
        if session is None:
            raise not_found(scope)
        progress = {each.kind: each for each in await snapshots_db.read_progress(connection, scope)}
        asked = dict.fromkeys([*connection.policy_for(scope).kinds, *progress])
    kinds = [progress.get(kind) or KindProgress(kind, extracted_seq=0) for kind in asked]
    return ExtractionStatus(session.last_turn_seq, session.promoted_seq, kinds)
