"""A run of a pipeline: user by user, what was said since is read and distilled.

Each run of turns is committed with the checkpoint behind it, in the store that is written. So whatever dies when, no
turn is distilled twice or left out; and who fails is where it was, for the next run.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from ricordo_server.app.consolidation import Checkpoint
from ricordo_server.app.distillation import distill
from ricordo_server.app.extraction import learn, passage_of
from ricordo_server.app.forgetting import forget_turns
from ricordo_server.app.maintenance import maintain
from ricordo_server.app.services import Services
from ricordo_server.app.standing import asker
from ricordo_server.app.transactions import in_store
from ricordo_server.db import pipelines as pipelines_db
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection, project_transaction
from ricordo_server.db.service_accounts import find_role
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.failure import StepError, classify
from ricordo_server.domain.generation import DEFAULT_RULES, Generation, Learned, SessionRange, memory_scope
from ricordo_server.domain.memory import MemoryKind, RevisionAction
from ricordo_server.domain.pipeline import Pipeline, PipelineRun, RunOutcome
from ricordo_server.domain.principal import Principal, PrincipalKind
from ricordo_server.domain.promotion import MOST_SNAPSHOT_TURNS
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.service_account import parse_client_id

log = logging.getLogger("ricordo.pipelines")

SESSIONS_A_PAGE = 500
# Turns before a run, given along to be understood.
CONTEXT_TURNS = 2


async def run_pipeline(services: Services, call: Call, store_id: str, run_id: str) -> None:
    """Does what is left of a run; `call` is the worker's. A run that ended is left alone."""
    async with in_store(services.database, call, store_id) as connection:
        run = await pipelines_db.begin_run(connection, run_id)
        if run is None:
            return
        pipeline = await pipelines_db.get_pipeline(connection, run.pipeline_id)
    if pipeline is None:  # its target went meanwhile, and so does it
        return
    try:
        acting = replace(call, principal=await _creator_of(services, call, pipeline))
        outcome = await _read_all(services, acting, pipeline)
    except DomainError as error:
        if error.reason not in (Reason.PERMISSION_DENIED, Reason.STORE_NOT_FOUND):
            raise
        outcome = RunOutcome(error=error.reason)
    await _end(services, call, run, outcome)


async def give_up(services: Services, call: Call, store_id: str, run_id: str, error: str) -> None:
    """Ends a run whose job is not tried again."""
    async with in_store(services.database, call, store_id) as connection:
        run = await pipelines_db.get_run(connection, run_id)
    if run is not None:
        await _end(services, call, run, RunOutcome(error=error))


async def _end(services: Services, call: Call, run: PipelineRun, outcome: RunOutcome) -> None:
    async with in_store(services.database, call, run.store_id) as connection:
        await pipelines_db.end_run(connection, run, outcome)
    counts = {name: value for name, value in vars(outcome).items() if name not in ("created", "error")}
    log.info("pipeline run ended", extra={**counts, "made": outcome.created, "reason": outcome.error})


async def _creator_of(services: Services, call: Call, pipeline: Pipeline) -> Principal:
    """Whoever made the pipeline, with the role it has by now.

    Raises:
        DomainError: PERMISSION_DENIED, when its account is disabled or gone.
    """
    project_id, role = call.principal.project_id, pipeline.creator_role
    assert project_id is not None  # noqa: S101 - a worker is in a project
    if (client := parse_client_id(pipeline.creator_id)) is not None:
        pool = services.database.pool
        async with project_transaction(pool, asker(project_id), timeout=call.remaining) as connection:
            current = await find_role(connection, client.account_id)
        if current is None:
            raise DomainError(Reason.PERMISSION_DENIED, "the account that made the pipeline is gone")
        role = current
    return Principal(pipeline.creator_id, PrincipalKind.SERVICE, project_id, role.implied())


async def _read_all(services: Services, call: Call, pipeline: Pipeline) -> RunOutcome:
    outcome = RunOutcome()
    for actor, sessions in await _find_new(services, call, pipeline):
        outcome += await _read_actor(services, call, pipeline, actor, sessions)
    return outcome


async def _find_new(
    services: Services, call: Call, pipeline: Pipeline
) -> Sequence[tuple[Scope, Sequence[tuple[Scope, int]]]]:
    """By user and labels the sessions with turns that are not distilled, and behind which turn to begin."""
    found: dict[str, tuple[Scope, list[tuple[Scope, int]]]] = {}
    after = ""
    while True:
        async with in_store(services.database, call, pipeline.store_id) as connection:
            page = await pipelines_db.list_recent(connection, pipeline.covered_time, after, SESSIONS_A_PAGE)
        keys = [scope.key for scope, _ in page]
        async with in_store(services.database, call, pipeline.target_store_id) as connection:
            distilled = await pipelines_db.read_checkpoints(connection, pipeline.pipeline_id, keys)
        for scope, last_seq in page:
            if last_seq > (begun := distilled.get(scope.key, 0)):
                actor = memory_scope(scope)
                found.setdefault(actor.key, (actor, []))[1].append((scope, begun))
        if len(page) < SESSIONS_A_PAGE:
            return list(found.values())
        after = keys[-1]


async def _read_actor(
    services: Services, call: Call, pipeline: Pipeline, actor: Scope, sessions: Sequence[tuple[Scope, int]]
) -> RunOutcome:
    """One user's failure is counted, and stops nobody else's."""
    outcome = RunOutcome(actors=1)
    try:
        for scope, distilled_seq in sessions:
            outcome += await _read_session(services, call, pipeline, scope, distilled_seq)
        return outcome + _counted(await maintain(services, call, pipeline.target_store_id, actor))
    except (StepError, DomainError) as error:
        if isinstance(error, DomainError) and error.reason in (
            Reason.PERMISSION_DENIED,
            Reason.STORE_NOT_FOUND,
        ):
            raise
        reason = str(error.reason) if isinstance(error, DomainError) else str(classify(error))
        log.warning("a user's sessions were not distilled", extra={"reason": reason}, exc_info=error)
        return outcome + RunOutcome(failed_actors=1, error=reason)


async def _read_session(
    services: Services, call: Call, pipeline: Pipeline, scope: Scope, distilled_seq: int
) -> RunOutcome:
    outcome = RunOutcome()
    while True:
        learned, last_seq = await _learn(services, call, pipeline, scope, distilled_seq)
        if learned is None:
            return outcome
        written = await _distill(services, call, pipeline, scope, learned, last_seq)
        outcome += _counted(written)
        distilled_seq = last_seq


def _counted(written: Generation) -> RunOutcome:
    created, updated = map(written.count, (RevisionAction.CREATED, RevisionAction.UPDATED))
    return RunOutcome(created=created, updated=updated)


async def _learn(
    services: Services, call: Call, pipeline: Pipeline, scope: Scope, distilled_seq: int
) -> tuple[Learned | None, int]:
    """What the next turns of a session say, and the number of the last; None when there are none."""
    async with in_store(services.database, call, pipeline.store_id) as connection:
        session = await sessions_db.get_session(connection, scope)
        run = SessionRange(scope, from_seq=distilled_seq + 1)
        turns = await turns_db.list_run(connection, run, MOST_SNAPSHOT_TURNS)
        before = SessionRange(scope, distilled_seq + 1 - CONTEXT_TURNS, distilled_seq)
        context = await turns_db.list_run(connection, before, CONTEXT_TURNS)
        policy = pipeline.policy.applied_to(connection.policy_for(scope))
    if session is None or not turns:
        return None, distilled_seq
    passage = passage_of(session, policy, turns, context)
    return await learn(services, call, policy, passage, MemoryKind.SEMANTIC), turns[-1].turn_seq


async def _distill(
    services: Services, call: Call, pipeline: Pipeline, scope: Scope, learned: Learned, last_seq: int
) -> Generation:
    async with in_store(services.database, call, pipeline.store_id) as connection:
        policy = pipeline.policy.applied_to(connection.policy_for(scope))
    checkpoint = _checkpoint(pipeline, scope, last_seq)
    target = pipeline.target_store_id
    written = await distill(services, call, target, policy, learned, DEFAULT_RULES, checkpoint)
    await _forget_gone(services, call, pipeline, [each.turn_id for each in learned.utterances])
    return written


def _checkpoint(pipeline: Pipeline, scope: Scope, last_seq: int) -> Checkpoint:
    async def checkpoint(connection: TenantConnection, _: Generation) -> None:
        if not await pipelines_db.move_checkpoint(connection, pipeline.pipeline_id, scope, last_seq):
            raise DomainError(Reason.PIPELINE_RUNNING, "another run has distilled these turns")

    return checkpoint


async def _forget_gone(services: Services, call: Call, pipeline: Pipeline, turn_ids: Sequence[str]) -> None:
    """What was learned must not outlive a turn that was deleted while it was read: the two stores share no lock."""
    async with in_store(services.database, call, pipeline.store_id) as connection:
        left = await turns_db.get_turns(connection, turn_ids)
    if gone := sorted(set(turn_ids) - set(left)):
        async with in_store(services.database, call, pipeline.target_store_id) as connection:
            await forget_turns(connection, gone)
