"""Pipelines and their runs."""

from collections.abc import Sequence
from datetime import timedelta

from ricordo.v1 import pipeline_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import MAX_TITLE_BYTES
from ricordo_server.domain.pipeline import (
    DEFAULT_PERIOD,
    LONGEST_PERIOD,
    SHORTEST_PERIOD,
    Pipeline,
    PipelineChanges,
    PipelineDraft,
    PipelinePolicy,
    PipelineRun,
    PipelineTrigger,
)
from ricordo_server.rpc.checks import TURN_ID, check_pattern, check_text
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.generation import decode_instructions
from ricordo_server.rpc.convert.times import decode_duration, encode_duration, encode_time

TRIGGER = pipeline_pb2.PipelineTrigger.DESCRIPTOR
RUN_STATE = pipeline_pb2.PipelineRunState.DESCRIPTOR
POLICY_PATHS = ("endpoint", "model", "instructions", "trigger", "period")
ACCEPTED_PATHS = ("display_name", "paused", "policy", *(f"policy.{name}" for name in POLICY_PATHS))


def decode_pipeline_id(value: str, field: str = "pipeline_id") -> str:
    return check_pattern(field, value, TURN_ID)


def decode_run_id(value: str) -> str:
    return check_pattern("run_id", value, TURN_ID)


def decode_pipeline(message: pipeline_pb2.Pipeline, field: str = "pipeline") -> PipelineDraft:
    """What a caller may say; output fields are ignored."""
    return PipelineDraft(
        target_store_id=check_text(f"{field}.target_store_id", message.target_store_id, required=True),
        display_name=_display_name(message, field),
        policy=_policy(message.policy, f"{field}.policy"),
        paused=message.paused,
    )


def _display_name(message: pipeline_pb2.Pipeline, field: str) -> str:
    return check_text(f"{field}.display_name", message.display_name, limit=MAX_TITLE_BYTES)


def decode_pipeline_changes(message: pipeline_pb2.Pipeline, paths: Sequence[str]) -> PipelineChanges:
    """The new values of the masked fields; those of the policy by their own names.

    Raises:
        DomainError: INVALID_FIELD naming the accepted paths.
    """
    values = {
        "display_name": _display_name(message, "pipeline"),
        "paused": message.paused,
        **vars(_policy(message.policy, "pipeline.policy")),
    }
    names: list[str] = []
    for path in paths:
        if path not in ACCEPTED_PATHS:
            accepted = ", ".join(ACCEPTED_PATHS)
            raise invalid_field("update_mask", f"{path!r} cannot be changed; accepted: {accepted}")
        names += POLICY_PATHS if path == "policy" else [path.removeprefix("policy.")]
    if not names:
        raise invalid_field("update_mask", f"update_mask is required; accepted: {', '.join(ACCEPTED_PATHS)}")
    return {name: values[name] for name in names}


def _policy(message: pipeline_pb2.PipelinePolicy, field: str) -> PipelinePolicy:
    trigger = decode_enum(message.trigger, TRIGGER, PipelineTrigger, f"{field}.trigger")
    return PipelinePolicy(
        endpoint=check_text(f"{field}.endpoint", message.endpoint),
        model=check_text(f"{field}.model", message.model),
        instructions=decode_instructions(message.instructions, f"{field}.instructions"),
        trigger=trigger or PipelineTrigger.MANUAL,
        period=_period(message, f"{field}.period"),
    )


def _period(message: pipeline_pb2.PipelinePolicy, field: str) -> timedelta:
    if not message.HasField("period"):
        return DEFAULT_PERIOD
    period = decode_duration(message.period, field)
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        raise invalid_field(field, f"{field} is an hour at least, and 30 days at most")
    return period


def encode_pipeline(pipeline: Pipeline) -> pipeline_pb2.Pipeline:
    policy = pipeline.policy
    return pipeline_pb2.Pipeline(
        pipeline_id=pipeline.pipeline_id,
        store_id=pipeline.store_id,
        target_store_id=pipeline.target_store_id,
        display_name=pipeline.display_name,
        policy=pipeline_pb2.PipelinePolicy(
            endpoint=policy.endpoint,
            model=policy.model,
            instructions=policy.instructions,
            trigger=encode_enum(policy.trigger, TRIGGER),
            period=encode_duration(policy.period),
        ),
        paused=pipeline.paused,
        creator_id=pipeline.creator_id,
        create_time=encode_time(pipeline.create_time),
        update_time=encode_time(pipeline.update_time),
        next_run_time=encode_time(pipeline.next_run_time if pipeline.is_scheduled else None),
    )


def encode_run(run: PipelineRun) -> pipeline_pb2.PipelineRun:
    return pipeline_pb2.PipelineRun(
        run_id=run.run_id,
        pipeline_id=run.pipeline_id,
        store_id=run.store_id,
        state=encode_enum(run.state, RUN_STATE),
        cause=encode_enum(run.cause, TRIGGER),
        error=run.outcome.error,
        actor_count=run.outcome.actors,
        failed_actor_count=run.outcome.failed_actors,
        created_count=run.outcome.created,
        updated_count=run.outcome.updated,
        create_time=encode_time(run.create_time),
        end_time=encode_time(run.end_time),
    )
