"""Pipelines: the sessions of one store, distilled into documents of another."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.principal import Role

DEFAULT_PERIOD = timedelta(hours=24)
SHORTEST_PERIOD, LONGEST_PERIOD = timedelta(hours=1), timedelta(days=30)


class PipelineTrigger(StrEnum):
    MANUAL = "MANUAL"
    SCHEDULED = "SCHEDULED"


class PipelineRunState(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


ACTIVE_STATES = (PipelineRunState.PENDING, PipelineRunState.RUNNING)


@dataclass(frozen=True)
class PipelinePolicy:
    """Empty fields are those of the store that is read."""

    endpoint: str = ""
    model: str = ""
    instructions: str = ""
    trigger: PipelineTrigger = PipelineTrigger.MANUAL
    period: timedelta = DEFAULT_PERIOD

    def applied_to(self, policy: ExtractionPolicy) -> ExtractionPolicy:
        """The policy of the store that is read, with what the pipeline says otherwise."""
        prompts = dict(policy.prompts)
        if self.instructions:
            prompts[MemoryKind.SEMANTIC] = self.instructions
        endpoint = self.endpoint or policy.endpoint
        # A model is one of its endpoint: of another endpoint, the store's model means nothing.
        model = self.model or (policy.model if endpoint == policy.endpoint else "")
        return replace(policy, endpoint=endpoint, model=model, prompts=prompts)


@dataclass(frozen=True)
class PipelineDraft:
    target_store_id: str
    display_name: str = ""
    policy: PipelinePolicy = field(default_factory=PipelinePolicy)
    paused: bool = False


# New values by name: `display_name`, `paused`, or a field of the policy.
PipelineChanges = Mapping[str, object]


@dataclass(frozen=True)
class Pipeline:
    """`covered_time`: sessions that were not used since have nothing new; None before the first whole run."""

    pipeline_id: str
    store_id: str
    target_store_id: str
    display_name: str
    policy: PipelinePolicy
    paused: bool
    creator_id: str
    creator_role: Role
    covered_time: datetime | None
    next_run_time: datetime
    create_time: datetime
    update_time: datetime

    @property
    def is_scheduled(self) -> bool:
        return self.policy.trigger is PipelineTrigger.SCHEDULED and not self.paused


@dataclass(frozen=True)
class RunOutcome:
    """What a run came to. `error` is a reason or a class of failure: no message, which may quote what was said."""

    actors: int = 0
    failed_actors: int = 0
    created: int = 0
    updated: int = 0
    error: str = ""

    def __add__(self, other: "RunOutcome") -> "RunOutcome":
        return RunOutcome(
            self.actors + other.actors,
            self.failed_actors + other.failed_actors,
            self.created + other.created,
            self.updated + other.updated,
            self.error or other.error,
        )


@dataclass(frozen=True)
class PipelineRun:
    run_id: str
    pipeline_id: str
    store_id: str
    state: PipelineRunState
    cause: PipelineTrigger
    outcome: RunOutcome
    create_time: datetime
    end_time: datetime | None
