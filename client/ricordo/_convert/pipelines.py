"""Pipelines and their runs: requests and replies."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import enums, paging, values
from ricordo._convert.sendable import sendable
from ricordo._convert.store_entries import store_id_of
from ricordo.errors import MemoryClientError
from ricordo.v1 import pipeline_pb2
from ricordo.v1 import pipeline_service_pb2 as pb

PATHS = {
    "display_name": "display_name",
    "enabled": "paused",
    **{name: f"policy.{name}" for name in ("endpoint", "model", "instructions", "trigger", "period")},
}
"""The path of an update mask for each argument."""


def _encode(fields: Mapping[str, Any], **own: str) -> pipeline_pb2.Pipeline:
    """What is None is not given."""
    given = {name: value for name, value in fields.items() if value is not None}
    policy = pipeline_pb2.PipelinePolicy(
        **{name: given[name] for name in ("endpoint", "model", "instructions") if name in given},
        trigger=enums.PIPELINE_TRIGGER.encode(given.get("trigger")),
        period=values.encode_duration(given.get("period")),
    )
    return pipeline_pb2.Pipeline(
        display_name=given.get("display_name", ""),
        policy=policy,
        paused=not given.get("enabled", True),
        **own,  # type: ignore[arg-type]
    )


@sendable
def create_pipeline_request(
    session_store: str, memory_store: str, *, request_id: str | None, **fields: object
) -> pb.CreatePipelineRequest:
    """Asks for a new pipeline."""
    return pb.CreatePipelineRequest(
        store_id=store_id_of(session_store),
        pipeline=_encode(fields, target_store_id=store_id_of(memory_store)),
        request_id=paging.fresh(request_id),
    )


@sendable
def update_pipeline_request(
    pipeline_id: str, *, session_store: str, request_id: str | None, **fields: object
) -> pb.UpdatePipelineRequest:
    """Asks to change the fields that are given.

    Raises:
        MemoryClientError: None is.
    """
    paths = [PATHS[name] for name, value in fields.items() if value is not None]
    if not paths:
        raise MemoryClientError(f"give something to change: {', '.join(PATHS)}")
    return pb.UpdatePipelineRequest(
        store_id=store_id_of(session_store),
        pipeline=_encode(fields, pipeline_id=pipeline_id),
        update_mask=FieldMask(paths=paths),
        request_id=paging.fresh(request_id),
    )


@sendable
def get_pipeline_request(pipeline_id: str, *, session_store: str) -> pb.GetPipelineRequest:
    """Asks for a pipeline."""
    return pb.GetPipelineRequest(store_id=store_id_of(session_store), pipeline_id=pipeline_id)


@sendable
def list_pipelines_request(*, session_store: str, page_size: int | None) -> pb.ListPipelinesRequest:
    """Asks for a page of pipelines."""
    return pb.ListPipelinesRequest(store_id=store_id_of(session_store), page_size=page_size)


@sendable
def delete_pipeline_request(
    pipeline_id: str, *, session_store: str, request_id: str | None
) -> pb.DeletePipelineRequest:
    """Asks to delete a pipeline."""
    return pb.DeletePipelineRequest(
        store_id=store_id_of(session_store),
        pipeline_id=pipeline_id,
        request_id=paging.fresh(request_id),
    )


@sendable
def run_pipeline_request(
    pipeline_id: str, *, session_store: str, request_id: str | None
) -> pb.RunPipelineRequest:
    """Asks for a run."""
    return pb.RunPipelineRequest(
        store_id=store_id_of(session_store),
        pipeline_id=pipeline_id,
        request_id=paging.fresh(request_id),
    )


@sendable
def list_runs_request(
    pipeline_id: str, *, session_store: str, page_size: int | None
) -> pb.ListPipelineRunsRequest:
    """Asks for a page of runs."""
    return pb.ListPipelineRunsRequest(
        store_id=store_id_of(session_store), pipeline_id=pipeline_id, page_size=page_size
    )


@sendable
def get_run_request(run_id: str, *, session_store: str) -> pb.GetPipelineRunRequest:
    """Asks for a run."""
    return pb.GetPipelineRunRequest(store_id=store_id_of(session_store), run_id=run_id)


def decode_pipeline(pipeline: pipeline_pb2.Pipeline) -> models.Pipeline:
    """Decodes a pipeline."""
    policy = pipeline.policy
    return models.Pipeline(
        pipeline_id=pipeline.pipeline_id,
        session_store=pipeline.store_id,
        memory_store=pipeline.target_store_id,
        display_name=pipeline.display_name,
        endpoint=policy.endpoint,
        model=policy.model,
        instructions=policy.instructions,
        trigger=enums.PIPELINE_TRIGGER.decode(policy.trigger),
        period=timedelta(seconds=policy.period.seconds),
        enabled=not pipeline.paused,
        creator_id=pipeline.creator_id,
        create_time=values.decode_time(pipeline.create_time),
        update_time=values.decode_time(pipeline.update_time),
        next_run_time=values.decode_optional_time(pipeline.next_run_time, pipeline.HasField("next_run_time")),
    )


def decode_run(run: pipeline_pb2.PipelineRun) -> models.PipelineRun:
    """Decodes a run."""
    return models.PipelineRun(
        run_id=run.run_id,
        pipeline_id=run.pipeline_id,
        session_store=run.store_id,
        state=enums.PIPELINE_RUN_STATE.decode(run.state),
        cause=enums.PIPELINE_TRIGGER.decode(run.cause),
        error=run.error,
        actors=run.actor_count,
        failed_actors=run.failed_actor_count,
        created=run.created_count,
        updated=run.updated_count,
        create_time=values.decode_time(run.create_time),
        end_time=values.decode_optional_time(run.end_time, run.HasField("end_time")),
    )
