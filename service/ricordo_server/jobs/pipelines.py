"""Pipelines: a run, the look for those whose time has come, and what other stores learned of deleted turns."""

from collections.abc import Mapping
from typing import Any

from ricordo_server.app import elsewhere, pipeline_runs, pipelines
from ricordo_server.app.forgetting import FORGET_ELSEWHERE
from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.jobs.kind import LONGEST_SECONDS, Failure, JobKind


async def run_pipeline(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await pipeline_runs.run_pipeline(services, call, arguments["store_id"], arguments["run_id"])


async def give_up(services: Services, call: Call, arguments: Mapping[str, Any], failure: Failure) -> None:
    if failure.is_final:
        store_id, run_id = arguments["store_id"], arguments["run_id"]
        await pipeline_runs.give_up(services, call, store_id, run_id, str(failure.failure_class))


async def start_due(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await pipelines.start_due(services, call)


async def forget_elsewhere(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await elsewhere.forget_elsewhere(services, call, arguments["store_id"], arguments["turn_ids"])


KINDS = (
    JobKind(pipelines.RUN_PIPELINE, run_pipeline, seconds=LONGEST_SECONDS, on_failure=give_up),
    JobKind("start_due_pipelines", start_due, seconds=LONGEST_SECONDS, schedule="*/10 * * * *"),
    JobKind(FORGET_ELSEWHERE, forget_elsewhere),
)
