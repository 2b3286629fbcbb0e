"""From turns to memories: extraction, pipelines and the operations of both."""

from typing import Any

from ricordo import models
from ricordo.v1 import (
    error_reason_pb2,
    failure_pb2,
    generation_pb2,
    held_memory_pb2,
    memory_pb2,
    operation_pb2,
    pipeline_pb2,
    snapshot_pb2,
)
from ricordo.v1 import extraction_service_pb2 as extraction
from ricordo.v1 import operation_service_pb2 as operations
from ricordo.v1 import pipeline_service_pb2 as pipelines
from tests.client._async.calls.case import Case, first
from tests.fixtures.client_samples import NOON_WIRE, wire_memory

PIPELINE = pipeline_pb2.Pipeline(
    pipeline_id="p1",
    store_id="talks",
    target_store_id="notes",
    policy=pipeline_pb2.PipelinePolicy(trigger=pipeline_pb2.PIPELINE_TRIGGER_SCHEDULED),
    paused=True,
    creator_id="p2",
    create_time=NOON_WIRE,
    update_time=NOON_WIRE,
)

RUN = pipeline_pb2.PipelineRun(
    run_id="r1",
    pipeline_id="p1",
    store_id="talks",
    state=pipeline_pb2.PIPELINE_RUN_STATE_RUNNING,
    cause=pipeline_pb2.PIPELINE_TRIGGER_MANUAL,
    actor_count=3,
    failed_actor_count=1,
    create_time=NOON_WIRE,
)

CANCELLED = operation_pb2.OperationError(
    code=1, reason=error_reason_pb2.ERROR_REASON_OPERATION_CANCELLED, message="it was cancelled"
)

MADE = generation_pb2.GenerationResult(report=generation_pb2.GenerationReport(known_count=3))


def wire_operation(**fields: Any) -> operation_pb2.Operation:
    """One that is under way, changed by `fields`."""
    kind = operation_pb2.OPERATION_KIND_GENERATE_MEMORIES
    given = {"operation_id": "o1", "store_id": "s", "kind": kind, "create_time": NOON_WIRE, **fields}
    return operation_pb2.Operation(**given)


CASES: dict[str, Case] = {
    "GenerateMemories": Case(
        lambda client: client.extraction.generate(
            facts=["I like tea.", models.DirectFact(content="I like milk.", topics=["drinks"])],
            scope=models.Scope(user_id="ada"),
            consolidate=False,
            metadata={"plan": 1},
            metadata_merge_strategy="merge",
            dry_run=True,
        ),
        extraction.GenerateMemoriesResponse(
            memories=[
                generation_pb2.GeneratedMemory(
                    memory=wire_memory(), action=memory_pb2.REVISION_ACTION_UPDATED, previous_revision=3
                )
            ],
            report=generation_pb2.GenerationReport(known_count=1, incomplete=True),
        ),
        lambda made: (
            (made.memories[0].action, made.memories[0].previous_revision, made.known, made.incomplete)
            == ("updated", 3, 1, True)
        ),
        {
            "scope.user_id": "ada",
            "disable_consolidation": True,
            "metadata_merge_strategy": 2,
            "dry_run": True,
            "kinds": [],
        },
    ),
    "ListFailures": Case(
        lambda client: first(
            client.extraction.list_failures(scope=models.Matching(user_id="ada"), page_size=3)
        ),
        extraction.ListFailuresResponse(
            failures=[
                snapshot_pb2.ExtractionFailure(
                    snapshot_id="n1",
                    kind=memory_pb2.MEMORY_KIND_SEMANTIC,
                    attempts=1,
                    failure_class=failure_pb2.FAILURE_CLASS_CONTENT,
                    failure_time=NOON_WIRE,
                    error="why",
                )
            ]
        ),
        lambda failure: (
            (failure.kind, failure.failure_class, failure.error) == ("semantic", "content", "why")
        ),
        {"scope.matching.user_id": "ada", "page_size": 3},
    ),
    "RetryFailure": Case(
        lambda client: client.extraction.retry_failure("n1", "semantic"),
        extraction.RetryFailureResponse(),
        lambda answer: answer is None,
        {"snapshot_id": "n1", "kind": 1},
    ),
    "ListHeldMemories": Case(
        lambda client: first(client.extraction.list_held(scope=models.Matching(user_id="ada"), page_size=3)),
        extraction.ListHeldMemoriesResponse(
            held_memories=[
                held_memory_pb2.HeldMemory(
                    held_memory_id="h1",
                    memory=wire_memory(),
                    quotations=[held_memory_pb2.Quotation(turn_id="t1", role="tool", text="Hello")],
                )
            ]
        ),
        lambda held: (held.held_memory_id, held.quotations[0].role) == ("h1", "tool"),
        {"scope.matching.user_id": "ada", "page_size": 3},
    ),
    "ApproveMemory": Case(
        lambda client: client.extraction.approve("h1"),
        extraction.ApproveMemoryResponse(
            memories=[
                generation_pb2.GeneratedMemory(
                    memory=wire_memory(), action=memory_pb2.REVISION_ACTION_CREATED
                )
            ]
        ),
        lambda made: [each.action for each in made] == ["created"],
        {"held_memory_id": "h1"},
    ),
    "RejectMemory": Case(
        lambda client: client.extraction.reject("h1"),
        extraction.RejectMemoryResponse(),
        lambda answer: answer is None,
        {"held_memory_id": "h1"},
    ),
    "GetOperation": Case(
        lambda client: client.operations.get("o1"),
        operations.GetOperationResponse(operation=wire_operation(done=True, error=CANCELLED)),
        lambda operation: (
            (operation.done, operation.kind, operation.error.code, operation.error.reason)
            == (True, "generate_memories", "CANCELLED", "OPERATION_CANCELLED")
        ),
        {"operation_id": "o1"},
    ),
    "WaitOperation": Case(
        lambda client: client.operations.wait("o1", store="s", timeout=0),
        operations.WaitOperationResponse(operation=wire_operation(failed_attempts=2, failure_class=1)),
        lambda operation: (
            (operation.done, operation.failed_attempts, operation.failure_class) == (False, 2, "transient")
        ),
        {"operation_id": "o1", "store_id": "s"},
    ),
    "ListOperations": Case(
        lambda client: first(client.operations.list(scope=models.Matching(user_id="ada"), page_size=3)),
        operations.ListOperationsResponse(operations=[wire_operation()]),
        lambda operation: (operation.operation_id, operation.end_time) == ("o1", None),
        {"scope.matching.user_id": "ada", "page_size": 3},
    ),
    "CancelOperation": Case(
        lambda client: client.operations.cancel("o1"),
        operations.CancelOperationResponse(operation=wire_operation(done=True, generation=MADE)),
        lambda operation: (operation.error, operation.generation.known) == (None, 3),
        {"operation_id": "o1"},
    ),
    "CreatePipeline": Case(
        lambda client: client.memory_pipelines.create(
            "talks", "memory-stores/notes", model="m", trigger="scheduled", enabled=False
        ),
        pipelines.CreatePipelineResponse(pipeline=PIPELINE),
        lambda pipeline: (pipeline.memory_store, pipeline.enabled) == ("notes", False),
        {"store_id": "talks", "pipeline.target_store_id": "notes", "pipeline.policy.trigger": 2},
    ),
    "GetPipeline": Case(
        lambda client: client.memory_pipelines.get("p1", session_store="talks"),
        pipelines.GetPipelineResponse(pipeline=PIPELINE),
        lambda pipeline: pipeline.trigger == "scheduled" and pipeline.next_run_time is None,
        {"pipeline_id": "p1", "store_id": "talks"},
    ),
    "ListPipelines": Case(
        lambda client: first(client.memory_pipelines.list("talks", page_size=7)),
        pipelines.ListPipelinesResponse(pipelines=[PIPELINE]),
        lambda pipeline: pipeline.pipeline_id == "p1",
        {"store_id": "talks", "page_size": 7},
    ),
    "UpdatePipeline": Case(
        lambda client: client.memory_pipelines.pause("p1", session_store="talks"),
        pipelines.UpdatePipelineResponse(pipeline=PIPELINE),
        lambda pipeline: not pipeline.enabled,
        {"pipeline.pipeline_id": "p1", "pipeline.paused": True, "update_mask.paths": ["paused"]},
    ),
    "DeletePipeline": Case(
        lambda client: client.memory_pipelines.delete("p1", session_store="talks"),
        pipelines.DeletePipelineResponse(),
        lambda nothing: nothing is None,
        {"pipeline_id": "p1"},
    ),
    "RunPipeline": Case(
        lambda client: client.memory_pipelines.run("p1", session_store="talks"),
        pipelines.RunPipelineResponse(run=RUN),
        lambda run: (run.run_id, run.state, run.cause) == ("r1", "running", "manual"),
        {"pipeline_id": "p1", "store_id": "talks"},
    ),
    "ListPipelineRuns": Case(
        lambda client: first(client.memory_pipelines.list_runs("p1", session_store="talks")),
        pipelines.ListPipelineRunsResponse(runs=[RUN]),
        lambda run: (run.actors, run.failed_actors) == (3, 1),
        {"pipeline_id": "p1"},
    ),
    "GetPipelineRun": Case(
        lambda client: client.memory_pipelines.get_run("r1", session_store="talks"),
        pipelines.GetPipelineRunResponse(run=RUN),
        lambda run: run.end_time is None,
        {"run_id": "r1"},
    ),
}
