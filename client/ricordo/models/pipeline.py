"""Pipelines: the sessions of one store, distilled into documents of another."""

from datetime import datetime, timedelta

from ricordo.models.base import Model, Word


class PipelineTrigger(Word):
    """When a pipeline runs: by hand alone, or also once in each period."""

    MANUAL = "manual"
    SCHEDULED = "scheduled"


class PipelineRunState(Word):
    """Where a run is."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Pipeline(Model):
    """What each user said in `session_store` becomes lines of that user's documents in `memory_store`.

    Empty fields of `endpoint`, `model` and `instructions` are those of the store that is read. `next_run_time` is
    None unless it is scheduled and enabled. Its runs are in the name of `creator_id`. Times are UTC.
    """

    pipeline_id: str
    session_store: str
    memory_store: str
    display_name: str = ""
    endpoint: str = ""
    model: str = ""
    instructions: str = ""
    trigger: PipelineTrigger = PipelineTrigger.MANUAL
    period: timedelta
    enabled: bool = True
    creator_id: str
    create_time: datetime
    update_time: datetime
    next_run_time: datetime | None = None


class PipelineRun(Model):
    """One run: how many users had something new (`actors`), how many of them failed, and what was written.

    `error` says why a run failed: a reason, or a class of failure. A user that failed is read again by the next run.
    """

    run_id: str
    pipeline_id: str
    session_store: str
    state: PipelineRunState
    cause: PipelineTrigger
    error: str = ""
    actors: int = 0
    failed_actors: int = 0
    created: int = 0
    updated: int = 0
    create_time: datetime
    end_time: datetime | None = None
