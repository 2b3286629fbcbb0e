"""From turns to snapshots: when it is time, in the transaction that sees that it is, under the session's lock.

So each turn is in exactly one snapshot, whatever dies when: a snapshot, its jobs and the session's move behind it are
committed together.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from uuid_utils.compat import uuid7

from ricordo_server.app.extraction_jobs import defer_extraction
from ricordo_server.app.permissions import check_may_read_as, check_may_write_in
from ricordo_server.app.services import Services
from ricordo_server.app.session_operations import join_operation, settle_operation
from ricordo_server.app.sessions import not_found
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import operations as operations_db
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.jobs import defer_job
from ricordo_server.domain.call import Call
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.promotion import (
    Backlog,
    Promotion,
    PromotionTriggers,
    Stream,
    promotion_due,
    split_runs,
    time_due,
)
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
    policy = _policy_of(connection, scope, backlog)
    if not policy.enabled or not policy.kinds:
        return
    if due := promotion_due(policy.triggers, backlog, first_new_seq):
        await _promote(connection, scope, policy, backlog, due)
    if not backlog.is_pending:
        await _wait_for_idle(connection, scope, policy, backlog)


def _policy_of(connection: TenantConnection, scope: Scope, backlog: Backlog) -> ExtractionPolicy:
    """The session's own rule, where it has one, takes the place of the policy's triggers."""
    policy = connection.policy_for(scope)
    return policy if backlog.rule is None else replace(policy, enabled=True, triggers=backlog.rule)


async def _wait_for_idle(
    connection: TenantConnection, scope: Scope, policy: ExtractionPolicy, backlog: Backlog
) -> None:
    await snapshots_db.set_pending(connection, scope.key, pending=True)
    await _defer_idle(connection, scope.key, time_due(policy.triggers, backlog), backlog.rule)


async def _defer_idle(
    connection: TenantConnection,
    scope_key: str,
    start_time: datetime,
    rule: PromotionTriggers | None = None,
) -> None:
    """Jobs of one lock wait for one another, and one waits already for the rule before: each rule has its own."""
    arguments = {"store_id": connection.store_name, "scope_key": scope_key}
    lock = f"{PROMOTE_IDLE}:{connection.store_id}:{scope_key}"
    if rule is not None:
        lock += f":{rule.interval_seconds}:{rule.idle_seconds}"
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
    operation = await operations_db.hold_of_session(connection, scope)
    await snapshots_db.insert_snapshots(
        connection,
        scope,
        runs,
        overlap=policy.triggers.overlap,
        cause=due.cause,
        kinds=policy.kinds,
        operation_id=operation.operation_id if operation else None,
        options=backlog.options,
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
        policy = _policy_of(connection, scope, backlog)
        due_time = time_due(policy.triggers, backlog)
        if policy.enabled and due_time > datetime.now(UTC) and not backlog.is_empty:
            await _defer_idle(connection, scope_key, due_time, backlog.rule)
            return
        if policy.enabled and policy.kinds:
            idle = Promotion(backlog.last_seq, PromotionCause.IDLE)
            await _promote(connection, scope, policy, backlog, idle)
            await settle_operation(connection, scope)
        await snapshots_db.set_pending(connection, scope_key, pending=False)


async def enter_stream(connection: TenantConnection, scope: Scope, stream: Stream) -> str | None:
    """What a call says of a session, before its turns are recorded; makes the session if it is new, and holds it.

    Answers the operation that the turns belong to; None where the project's policy alone says what becomes of them.
    """
    await sessions_db.lock_session(connection, scope)
    if stream.sets_rule:
        await sessions_db.set_trigger_rule(connection, scope, stream.rule)
    if stream.options is not None:
        await sessions_db.set_generation_options(connection, scope, stream.options)
    backlog = await _backlog_of(connection, scope)
    if (backlog.rule is None and not stream.force_flush) or not connection.policy_for(scope).kinds:
        return None
    return (await join_operation(connection, scope)).operation_id


async def leave_stream(connection: TenantConnection, scope: Scope, stream: Stream) -> None:
    """What a call says of a session, once its turns are recorded."""
    backlog = await _backlog_of(connection, scope)
    policy = _policy_of(connection, scope, backlog)
    if stream.force_flush and policy.kinds:
        requested = Promotion(backlog.last_seq, PromotionCause.REQUESTED)
        await _promote(connection, scope, policy, backlog, requested)
    elif stream.sets_rule and policy.enabled and policy.kinds and not backlog.is_empty:
        if due := promotion_due(policy.triggers, backlog, backlog.last_seq + 1):
            await _promote(connection, scope, policy, backlog, due)
        else:
            await _wait_for_idle(connection, scope, policy, backlog)
    if (await _backlog_of(connection, scope)).is_empty:
        await settle_operation(connection, scope)


async def _backlog_of(connection: TenantConnection, scope: Scope) -> Backlog:
    found = await snapshots_db.lock_backlog(connection, scope.key)
    if found is None:
        raise not_found(scope)
    return found[1]


async def promote_session(services: Services, call: Call, store_id: str, scope: Scope) -> list[str]:
    """Promotes every turn of a session that is in no snapshot; answers the new snapshots' ids, in order.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write_in(call.principal, scope)

    async def work(connection: TenantConnection) -> list[str]:
        backlog = await _backlog_of(connection, scope)
        policy = _policy_of(connection, scope, backlog)
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
