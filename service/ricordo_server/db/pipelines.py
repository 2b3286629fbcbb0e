"""Statements on pipelines, their runs and their checkpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_tenant, one_of
from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.paging import OrderKey, fetch_page, text_key, time_key
from ricordo_server.db.rows import scope_from
from ricordo_server.db.tables import pipeline, pipeline_checkpoint, pipeline_run, session, store
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.pipeline import (
    ACTIVE_STATES,
    Pipeline,
    PipelineChanges,
    PipelineDraft,
    PipelinePolicy,
    PipelineRun,
    PipelineRunState,
    PipelineTrigger,
    RunOutcome,
)
from ricordo_server.domain.principal import Role
from ricordo_server.domain.scope import Scope

TARGET = store.alias("target")
IS_TARGET = and_(
    TARGET.c.project_id == pipeline.c.project_id, TARGET.c.store_id == pipeline.c.target_store_id
)
POLICY_FIELDS = ("endpoint", "model", "instructions", "trigger")
OLDEST = [time_key(pipeline.c.create_time), text_key(pipeline.c.pipeline_id)]
NEWEST = [
    replace(time_key(pipeline_run.c.create_time), descending=True),
    OrderKey(pipeline_run.c.run_id, str, descending=True),
]
COUNTS = {
    "actors": pipeline_run.c.actor_count,
    "failed_actors": pipeline_run.c.failed_actor_count,
    "created": pipeline_run.c.created_count,
    "updated": pipeline_run.c.updated_count,
}


def _columns(values: Mapping[str, object]) -> dict[str, Any]:
    """A period is stored in seconds."""
    period = values.get("period")
    others = {name: value for name, value in values.items() if name != "period"}
    return others | ({"period_seconds": int(period.total_seconds())} if isinstance(period, timedelta) else {})


def _selected(connection: TenantConnection) -> Select[Any]:
    return (
        select(pipeline, TARGET.c.name.label("target_name"))
        .select_from(pipeline.join(TARGET, IS_TARGET))
        .where(in_tenant(pipeline, connection), TARGET.c.project_id == connection.project_id)
    )


def pipeline_from(row: Row, connection: TenantConnection) -> Pipeline:
    policy = PipelinePolicy(
        row["endpoint"],
        row["model"],
        row["instructions"],
        PipelineTrigger(row["trigger"]),
        timedelta(seconds=row["period_seconds"]),
    )
    names = ("pipeline_id", "display_name", "paused", "creator_id", "covered_time", "next_run_time")
    return Pipeline(
        store_id=connection.store_name,
        target_store_id=row["target_name"],
        policy=policy,
        creator_role=Role(row["creator_role"]),
        **{name: row[name] for name in (*names, "create_time", "update_time")},
    )


async def insert_pipeline(
    connection: TenantConnection, pipeline_id: str, draft: PipelineDraft, role: Role
) -> bool:
    """False when the two stores have one already, or there is no such target to be seen."""
    target = select(store.c.store_id).where(
        store.c.project_id == connection.project_id, store.c.name == draft.target_store_id
    )
    row = await connection.fetch_one(target)
    if row is None:
        return False
    values = {
        **connection.key,
        "pipeline_id": pipeline_id,
        "target_store_id": row["store_id"],
        "display_name": draft.display_name,
        "paused": draft.paused,
        "creator_id": connection.principal_id,
        "creator_role": role,
        **_columns(vars(draft.policy)),
    }
    statement = upsert(pipeline).values(values).on_conflict_do_nothing().returning(pipeline.c.pipeline_id)
    return await connection.fetch_one(statement) is not None


async def get_pipeline(connection: TenantConnection, pipeline_id: str) -> Pipeline | None:
    row = await connection.fetch_one(_selected(connection).where(pipeline.c.pipeline_id == pipeline_id))
    return pipeline_from(row, connection) if row else None


async def list_pipelines(connection: TenantConnection, page: PageRequest) -> Page[Pipeline]:
    """Oldest first."""
    return await fetch_page(
        connection, _selected(connection), OLDEST, page, lambda row: pipeline_from(row, connection)
    )


async def update_pipeline(connection: TenantConnection, pipeline_id: str, changes: PipelineChanges) -> None:
    statement = update(pipeline).where(_is(connection, pipeline_id)).values(**_columns(changes))
    await connection.execute(statement.values(update_time=func.clock_timestamp()))


async def delete_pipeline(connection: TenantConnection, pipeline_id: str) -> bool:
    statement = delete(pipeline).where(_is(connection, pipeline_id)).returning(pipeline.c.pipeline_id)
    return await connection.fetch_one(statement) is not None


async def feeds_others(connection: TenantConnection) -> bool:
    """Whether another store learns from the sessions of this one."""
    row = await connection.fetch_one(select(func.ricordo.feeds_others().label("feeds")))
    return bool(row and row["feeds"])


def _is(connection: TenantConnection, pipeline_id: str) -> ColumnElement[bool]:
    return and_(in_tenant(pipeline, connection), pipeline.c.pipeline_id == pipeline_id)


async def list_due(connection: TenantConnection, *, most: int) -> list[str]:
    """Pipelines whose time has come, and that nothing of is under way."""
    active = select(pipeline_run.c.run_id).where(
        in_tenant(pipeline_run, connection),
        pipeline_run.c.pipeline_id == pipeline.c.pipeline_id,
        one_of(pipeline_run.c.state, ACTIVE_STATES),
    )
    statement = select(pipeline.c.pipeline_id).where(
        in_tenant(pipeline, connection),
        pipeline.c.trigger == PipelineTrigger.SCHEDULED,
        pipeline.c.paused.is_(False),
        pipeline.c.next_run_time <= func.now(),
        ~exists(active),
    )
    return [row["pipeline_id"] for row in await connection.fetch_all(statement.limit(most))]


async def insert_run(
    connection: TenantConnection, run_id: str, pipeline_id: str, cause: PipelineTrigger
) -> PipelineRun | None:
    """None while another run of the pipeline waits or is under way. The next one by schedule is a period away."""
    statement = (
        upsert(pipeline_run)
        .values({**connection.key, "run_id": run_id, "pipeline_id": pipeline_id, "cause": cause})
        .on_conflict_do_nothing()
        .returning(pipeline_run)
    )
    row = await connection.fetch_one(statement)
    if row is None:
        return None
    period = func.make_interval(0, 0, 0, 0, 0, 0, pipeline.c.period_seconds)
    postponed = update(pipeline).where(_is(connection, pipeline_id)).values(next_run_time=func.now() + period)
    await connection.execute(postponed)
    return run_from(row, connection)


def run_from(row: Row, connection: TenantConnection) -> PipelineRun:
    counts = {name: row[column.name] for name, column in COUNTS.items()}
    return PipelineRun(
        row["run_id"],
        row["pipeline_id"],
        connection.store_name,
        PipelineRunState(row["state"]),
        PipelineTrigger(row["cause"]),
        RunOutcome(**counts, error=row["error"]),
        row["create_time"],
        row["end_time"],
    )


async def get_run(connection: TenantConnection, run_id: str) -> PipelineRun | None:
    row = await connection.fetch_one(select(pipeline_run).where(_is_run(connection, run_id)))
    return run_from(row, connection) if row else None


async def find_active(connection: TenantConnection, pipeline_id: str) -> str | None:
    """The id of the run that waits or is under way."""
    statement = select(pipeline_run.c.run_id).where(
        in_tenant(pipeline_run, connection),
        pipeline_run.c.pipeline_id == pipeline_id,
        one_of(pipeline_run.c.state, ACTIVE_STATES),
    )
    row = await connection.fetch_one(statement)
    return row["run_id"] if row else None


async def list_runs(connection: TenantConnection, pipeline_id: str, page: PageRequest) -> Page[PipelineRun]:
    """Newest first."""
    statement = select(pipeline_run).where(
        in_tenant(pipeline_run, connection), pipeline_run.c.pipeline_id == pipeline_id
    )
    return await fetch_page(connection, statement, NEWEST, page, lambda row: run_from(row, connection))


def _is_run(connection: TenantConnection, run_id: str) -> ColumnElement[bool]:
    return and_(in_tenant(pipeline_run, connection), pipeline_run.c.run_id == run_id)


async def begin_run(connection: TenantConnection, run_id: str) -> PipelineRun | None:
    """The run under way; None when it has ended, or went with its pipeline. Begun before, it goes on."""
    statement = (
        update(pipeline_run)
        .where(_is_run(connection, run_id), one_of(pipeline_run.c.state, ACTIVE_STATES))
        .values(state=PipelineRunState.RUNNING)
        .returning(pipeline_run)
    )
    row = await connection.fetch_one(statement)
    return run_from(row, connection) if row else None


async def end_run(connection: TenantConnection, run: PipelineRun, outcome: RunOutcome) -> None:
    """A run that left nobody out moves the pipeline on: it need not look again at what was quiet since it began."""
    is_whole = not (outcome.error or outcome.failed_actors)
    counts = {column.name: getattr(outcome, name) for name, column in COUNTS.items()}
    ended = update(pipeline_run).where(
        _is_run(connection, run.run_id), one_of(pipeline_run.c.state, ACTIVE_STATES)
    )
    state = PipelineRunState.SUCCEEDED if is_whole else PipelineRunState.FAILED
    await connection.execute(
        ended.values(**counts, state=state, error=outcome.error, end_time=func.clock_timestamp())
    )
    if is_whole:
        moved = update(pipeline).where(_is(connection, run.pipeline_id))
        await connection.execute(moved.values(covered_time=run.create_time))


async def list_recent(
    connection: TenantConnection, since: datetime | None, after: str, most: int
) -> list[tuple[Scope, int]]:
    """Sessions with turns that were used since, by their key: each with the number that was given last."""
    recent = [session.c.last_activity_time >= since] if since else []
    statement = (
        select(
            session.c.scope_key, session.c.user_id, session.c.session_id, session.c.labels, session.c.next_seq
        )
        .where(in_tenant(session, connection), session.c.next_seq > 1, session.c.scope_key > after, *recent)
        .order_by(session.c.scope_key)
        .limit(most)
    )
    return [(scope_from(row), row["next_seq"] - 1) for row in await connection.fetch_all(statement)]


async def read_checkpoints(
    connection: TenantConnection, pipeline_id: str, scope_keys: Sequence[str]
) -> dict[str, int]:
    """Through which turn each session is distilled; those that never were are left out."""
    if not scope_keys:
        return {}
    statement = select(pipeline_checkpoint.c.scope_key, pipeline_checkpoint.c.distilled_seq).where(
        in_tenant(pipeline_checkpoint, connection),
        pipeline_checkpoint.c.pipeline_id == pipeline_id,
        one_of(pipeline_checkpoint.c.scope_key, scope_keys),
    )
    rows = await connection.fetch_all(statement)
    return {row["scope_key"]: row["distilled_seq"] for row in rows}


async def move_checkpoint(
    connection: TenantConnection, pipeline_id: str, scope: Scope, distilled_seq: int
) -> bool:
    """False when somebody else was there already."""
    key = {**connection.key, "pipeline_id": pipeline_id, "scope_key": scope.key}
    statement = upsert(pipeline_checkpoint).values(
        {**key, "user_id": scope.user_id, "distilled_seq": distilled_seq}
    )
    statement = statement.on_conflict_do_update(
        index_elements=list(key),
        set_={"distilled_seq": distilled_seq},
        where=pipeline_checkpoint.c.distilled_seq < distilled_seq,
    )
    return await connection.fetch_one(statement.returning(pipeline_checkpoint.c.scope_key)) is not None


async def delete_checkpoints(connection: TenantConnection, pipeline_id: str) -> None:
    await connection.execute(
        delete(pipeline_checkpoint).where(
            in_tenant(pipeline_checkpoint, connection), pipeline_checkpoint.c.pipeline_id == pipeline_id
        )
    )
