"""Each call of the contract has a method, which sends what it was given and gives back what it got."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.message import Message

from ricordo import AsyncClient, models
from ricordo._async.pager import AsyncPager
from ricordo.errors import MemoryClientError
from ricordo.v1 import admin_service_pb2 as admin
from ricordo.v1 import (
    embedding_model_pb2,
    error_reason_pb2,
    failure_pb2,
    generation_pb2,
    held_memory_pb2,
    memory_pb2,
    operation_pb2,
    pipeline_pb2,
    project_pb2,
    snapshot_pb2,
)
from ricordo.v1 import extraction_service_pb2 as extraction
from ricordo.v1 import identity_service_pb2 as identity
from ricordo.v1 import memory_service_pb2 as memories
from ricordo.v1 import operation_service_pb2 as operations
from ricordo.v1 import pipeline_service_pb2 as pipelines
from ricordo.v1 import project_service_pb2 as project
from ricordo.v1 import session_service_pb2 as sessions
from ricordo.v1 import store_service_pb2 as stores
from ricordo.v1.audit_pb2 import AUDIT_OUTCOME_DONE, AuditRecord
from ricordo.v1.erasure_pb2 import ErasedRows, ErasureReceipt
from ricordo.v1.profile_pb2 import Profile, ProfileField
from ricordo.v1.store_pb2 import GRANTED_ACCESS_WRITE, StoreGrant
from tests.fixtures.client_samples import (
    NOON_WIRE,
    new_memory,
    wire_account,
    wire_context,
    wire_memory,
    wire_project,
    wire_report,
    wire_session,
    wire_store,
    wire_turn,
    wire_who_am_i,
)
from tests.fixtures.fake_service import METHODS, FakeService

SESSION = models.Scope(user_id="ada", session_id="s1")
TURN = models.NewTurn(role="user", content="Hello")
REVISION = memory_pb2.MemoryRevision(
    memory=wire_memory(), revision_time=NOON_WIRE, action=memory_pb2.REVISION_ACTION_CREATED
)

MODEL = embedding_model_pb2.EmbeddingModel(
    name="m",
    dimension=8,
    state=embedding_model_pb2.EMBEDDING_MODEL_STATE_PREPARING,
    done_count=2,
    refused_count=1,
    total_count=3,
)
RECEIPT = ErasureReceipt(
    tables=[ErasedRows(table_name="memory", row_count=3), ErasedRows(table_name="turn", row_count=2)],
    done=True,
)
GRANT = StoreGrant(store_id="notes", principal_id="p2", access=GRANTED_ACCESS_WRITE, create_time=NOON_WIRE)

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


@dataclass(frozen=True)
class Case:
    """How a method is called, what the server answers, what comes back and what was sent."""

    invoke: Callable[[AsyncClient], Awaitable[Any]]
    reply: Message
    answer: Callable[[Any], bool]
    sent: dict[str, object]


CANCELLED = operation_pb2.OperationError(
    code=1, reason=error_reason_pb2.ERROR_REASON_OPERATION_CANCELLED, message="it was cancelled"
)
MADE = generation_pb2.GenerationResult(report=generation_pb2.GenerationReport(known_count=3))


def wire_operation(**fields: Any) -> operation_pb2.Operation:
    """One that is under way, changed by `fields`."""
    kind = operation_pb2.OPERATION_KIND_GENERATE_MEMORIES
    given = {"operation_id": "o1", "store_id": "s", "kind": kind, "create_time": NOON_WIRE, **fields}
    return operation_pb2.Operation(**given)


async def first(pager: AsyncPager[object]) -> object:
    return await anext(aiter(pager))


CASES = {
    "CreateMemory": Case(
        lambda client: client.memories.create(new_memory(), ttl=timedelta(hours=1), store="notes"),
        memories.CreateMemoryResponse(memory=wire_memory()),
        lambda memory: memory.memory_id == "m1",
        {"store_id": "notes", "memory.key": "trip", "memory.ttl.seconds": 3600},
    ),
    "BatchCreateMemories": Case(
        lambda client: client.memories.batch_create([new_memory(), new_memory()], atomic=True),
        memories.BatchCreateMemoriesResponse(results=[memories.MemoryResult(memory=wire_memory())]),
        lambda results: results[0].memory.memory_id == "m1" and results[0].error is None,
        {"atomic": True, "store_id": ""},
    ),
    "GetMemory": Case(
        lambda client: client.memories.get("m1", include_deleted=True),
        memories.GetMemoryResponse(memory=wire_memory()),
        lambda memory: memory.content == "Ada drinks green tea.",
        {"memory_id": "m1", "include_deleted": True},
    ),
    "ListMemories": Case(
        lambda client: first(
            client.memories.list(
                scope=models.Exactly(user_id="ada"),
                visibility="org",
                kinds=["semantic"],
                order_by="update_time desc",
                view="basic",
                page_size=7,
            )
        ),
        memories.ListMemoriesResponse(memories=[wire_memory()]),
        lambda memory: memory.key == "drink",
        {"scope.exactly.user_id": "ada", "visibility": 2, "kinds": [1], "view": 1, "page_size": 7},
    ),
    "UpdateMemory": Case(
        lambda client: client.memories.update("m1", models.MemoryChanges(title="Tea"), expected_revision=3),
        memories.UpdateMemoryResponse(memory=wire_memory(revision=4)),
        lambda memory: memory.revision == 4,
        {"memory.memory_id": "m1", "update_mask.paths": ["title"], "expected_revision": 3},
    ),
    "DeleteMemories": Case(
        lambda client: client.memories.delete_matching(
            kinds=["document"], filters={"key": {"$prefix": "/notes/"}}, force=True
        ),
        memories.DeleteMemoriesResponse(matching_count=3, deleted_count=2),
        lambda deleted: (deleted.matching, deleted.deleted) == (3, 2),
        {"force": True, "kinds": [5]},
    ),
    "MoveMemory": Case(
        lambda client: client.memories.move("m1", "/b", expected_revision=3),
        memories.MoveMemoryResponse(memory=wire_memory(revision=4)),
        lambda memory: memory.revision == 4,
        {"memory_id": "m1", "key": "/b", "expected_revision": 3},
    ),
    "PutMemory": Case(
        lambda client: client.memories.put(
            new_memory(), update_mask=["content"], append=True, expected_revision=0
        ),
        memories.PutMemoryResponse(memory=wire_memory(), created=True),
        lambda result: result.created and result.memory.memory_id == "m1",
        {"append": True, "update_mask.paths": ["content"], "memory.visibility": 2},
    ),
    "DeleteMemory": Case(
        lambda client: client.memories.delete("m1", purge=True),
        memories.DeleteMemoryResponse(),
        lambda answer: answer is None,
        {"memory_id": "m1", "purge": True},
    ),
    "RollbackMemory": Case(
        lambda client: client.memories.rollback("m1", 2, expected_revision=5),
        memories.RollbackMemoryResponse(memory=wire_memory(revision=6)),
        lambda memory: memory.revision == 6,
        {"memory_id": "m1", "target_revision": 2, "expected_revision": 5},
    ),
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
    "SearchMemories": Case(
        lambda client: client.memories.search(
            "tea",
            mode="hybrid",
            fusion="rrf",
            semantic_weight=0.5,
            top_k=3,
            scope=models.ReadableBy(user_id="ada"),
            filters={"metadata.colour": "green"},
            explain=True,
        ),
        memories.SearchMemoriesResponse(
            hits=[memories.MemoryHit(memory=wire_memory(), score=0.5, distance=0.0)], report=wire_report()
        ),
        lambda result: result.hits[0].distance == 0.0 and result.report.effective_mode == "hybrid",
        {
            "options.query": "tea",
            "options.fusion.semantic_weight": 0.5,
            "options.top_k": 3,
            "options.explain": True,
            "scope.readable_by.user_id": "ada",
        },
    ),
    "ListDomains": Case(
        lambda client: first(
            client.memories.list_domains(
                scope=models.ReadableBy(user_id="ada"), visibility="org", page_size=7, store="notes"
            )
        ),
        memories.ListDomainsResponse(domains=[memories.Domain(name="tea", term_count=2)]),
        lambda domain: (domain.name, domain.term_count) == ("tea", 2),
        {"scope.readable_by.user_id": "ada", "visibility": 2, "page_size": 7, "store_id": "notes"},
    ),
    "RetrieveProfiles": Case(
        lambda client: client.memories.retrieve_profiles(models.Scope(user_id="ada"), store="notes"),
        memories.RetrieveProfilesResponse(
            profiles=[
                Profile(
                    schema_id="person",
                    fields={
                        "age": ProfileField(
                            json_value="36", memory_id="m1", revision=2, update_time=NOON_WIRE
                        )
                    },
                )
            ]
        ),
        lambda profiles: (
            [(each.schema_id, each.profile) for each in profiles] == [("person", {"age": 36})]
            and profiles[0].fields["age"].memory_id == "m1"
        ),
        {"scope.user_id": "ada", "store_id": "notes"},
    ),
    "ListMemoryRevisions": Case(
        lambda client: first(client.memories.revisions.list("m1", page_size=2)),
        memories.ListMemoryRevisionsResponse(revisions=[REVISION]),
        lambda revision: revision.action == "created" and revision.memory.revision == 1,
        {"memory_id": "m1", "page_size": 2},
    ),
    "GetMemoryRevision": Case(
        lambda client: client.memories.revisions.get("m1", 1),
        memories.GetMemoryRevisionResponse(revision=REVISION),
        lambda revision: revision.memory.memory_id == "m1",
        {"memory_id": "m1", "revision": 1},
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
    "CreateSession": Case(
        lambda client: client.sessions.create(SESSION, parent_session_id="s0", metadata={"n": 1}),
        sessions.CreateSessionResponse(session=wire_session()),
        lambda session: session.scope == SESSION,
        {"session.scope.session_id": "s1", "session.parent_session_id": "s0"},
    ),
    "GetSession": Case(
        lambda client: client.sessions.get(SESSION),
        sessions.GetSessionResponse(session=wire_session()),
        lambda session: session.last_turn_seq == 2,
        {"scope.user_id": "ada", "scope.session_id": "s1"},
    ),
    "ListSessions": Case(
        lambda client: first(
            client.sessions.list(scope=models.Matching(user_id="ada"), order_by="session_id")
        ),
        sessions.ListSessionsResponse(sessions=[wire_session()]),
        lambda session: session.root_session_id == "s1",
        {"scope.matching.user_id": "ada"},
    ),
    "UpdateSession": Case(
        lambda client: client.sessions.update(SESSION, metadata={"n": 2}),
        sessions.UpdateSessionResponse(session=wire_session()),
        lambda session: session.scope == SESSION,
        {"session.scope.session_id": "s1", "update_mask.paths": ["metadata"]},
    ),
    "DeleteSession": Case(
        lambda client: client.sessions.delete(SESSION, cascade=True),
        sessions.DeleteSessionResponse(deleted_turn_count=2, deleted_memory_count=1, deleted_session_count=3),
        lambda deleted: (deleted.turns, deleted.memories, deleted.sessions) == (2, 1, 3),
        {"scope.session_id": "s1", "cascade": True},
    ),
    "ForkSession": Case(
        lambda client: client.sessions.fork(SESSION, up_to_turn_id="t1", session_id="s2", metadata={"n": 1}),
        sessions.ForkSessionResponse(session=wire_session()),
        lambda session: session.scope == SESSION,
        {"scope.session_id": "s1", "up_to_turn_id": "t1", "session_id": "s2"},
    ),
    "ClearSession": Case(
        lambda client: client.sessions.clear(SESSION),
        sessions.ClearSessionResponse(deleted_turn_count=2, restored_memory_count=1),
        lambda deleted: (deleted.turns, deleted.restored_memories, deleted.sessions) == (2, 1, 0),
        {"scope.session_id": "s1"},
    ),
    "PopTurn": Case(
        lambda client: client.sessions.pop_turn(SESSION),
        sessions.PopTurnResponse(turn=wire_turn()),
        lambda turn: turn.turn_seq == 1,
        {"scope.session_id": "s1"},
    ),
    "RecordTurn": Case(
        lambda client: client.sessions.record_turn(TURN, scope=SESSION),
        sessions.RecordTurnResponse(turn=wire_turn(), created=True),
        lambda recorded: recorded.created and recorded.turn.turn_seq == 1,
        {"scope.session_id": "s1", "turn.role": "user", "turn.content": "Hello"},
    ),
    "BatchRecordTurns": Case(
        lambda client: client.sessions.batch_record_turns([TURN, TURN], scope=SESSION),
        sessions.BatchRecordTurnsResponse(results=[sessions.RecordedTurn(turn=wire_turn())] * 2),
        lambda recorded: [one.created for one in recorded] == [False, False],
        {"scope.user_id": "ada"},
    ),
    "GetTurn": Case(
        lambda client: client.sessions.get_turn("t1"),
        sessions.GetTurnResponse(turn=wire_turn()),
        lambda turn: turn.turn_id == "t1",
        {"turn_id": "t1"},
    ),
    "DeleteTurn": Case(
        lambda client: client.sessions.delete_turn("t1"),
        sessions.DeleteTurnResponse(deleted_memory_count=2, restored_memory_count=1),
        lambda deleted: (deleted.memories, deleted.restored_memories) == (2, 1),
        {"turn_id": "t1"},
    ),
    "ListTurns": Case(
        lambda client: first(
            client.sessions.list_turns(scope=models.Matching(session_id="s1"), filters={"role": "user"})
        ),
        sessions.ListTurnsResponse(turns=[wire_turn()]),
        lambda turn: turn.role == "user",
        {"scope.matching.session_id": "s1"},
    ),
    "SearchTurns": Case(
        lambda client: client.sessions.search_turns("tea", mode="text", include_embedding=True),
        sessions.SearchTurnsResponse(
            hits=[sessions.TurnHit(turn=wire_turn(), score=0.5, embedding=[0.5])], report=wire_report()
        ),
        lambda result: result.hits[0].embedding == (0.5,) and result.hits[0].distance is None,
        {"options.query": "tea", "options.mode": 1, "include_embedding": True},
    ),
    "BuildContext": Case(
        lambda client: client.context.build(
            "tea",
            sources=[models.SourceSpec(source=models.ContextSource.STM, top_k=5)],
            format_style="openai",
            max_tokens=900,
            include_memories=True,
            explain=True,
            rerank=True,
        ),
        wire_context(),
        lambda built: (
            built.source_counts == {"semantic": 1, "stm": 1}
            and built.left_out[0].cause == "duplicate"
            and [chunk.rerank_score for chunk in built.chunks] == [2.5, None]
        ),
        {
            "query": "tea",
            "format": 1,
            "max_tokens": 900,
            "include_memories": True,
            "explain": True,
            "rerank": True,
        },
    ),
    "CreateStore": Case(
        lambda client: client.stores.create("notes", description="Notes", language="german"),
        stores.CreateStoreResponse(store=wire_store()),
        lambda store: store.language == "german",
        {"store.store_id": "notes", "store.settings.language": "german"},
    ),
    "GetStore": Case(
        lambda client: client.stores.get("notes"),
        stores.GetStoreResponse(store=wire_store()),
        lambda store: store.store_id == "notes",
        {"store_id": "notes"},
    ),
    "ListStores": Case(
        lambda client: first(client.stores.list(order_by="create_time desc")),
        stores.ListStoresResponse(stores=[wire_store()]),
        lambda store: store.store_id == "notes",
        {},
    ),
    "UpdateStore": Case(
        lambda client: client.stores.update("notes", language=""),
        stores.UpdateStoreResponse(store=wire_store()),
        lambda store: store.store_id == "notes",
        {"store.store_id": "notes", "update_mask.paths": ["settings.language"]},
    ),
    "PurgeMemories": Case(
        lambda client: client.memories.purge("ada", force=True),
        memories.PurgeMemoriesResponse(receipt=RECEIPT),
        lambda receipt: (
            (receipt.row_counts, receipt.total, receipt.done) == ({"memory": 3, "turn": 2}, 5, True)
        ),
        {"user_id": "ada", "force": True},
    ),
    "DeleteProject": Case(
        lambda client: client.admin.delete_project("p1"),
        admin.DeleteProjectResponse(receipt=RECEIPT),
        lambda receipt: receipt.total == 5,
        {"project_id": "p1", "force": False},
    ),
    "ListOperatorRecords": Case(
        lambda client: first(client.admin.list_operator_records(project_id="p1", page_size=7)),
        admin.ListOperatorRecordsResponse(
            records=[AuditRecord(action="CreateProject", outcome=AUDIT_OUTCOME_DONE, create_time=NOON_WIRE)]
        ),
        lambda record: record.action == "CreateProject",
        {"project_id": "p1", "page_size": 7},
    ),
    "ListAuditRecords": Case(
        lambda client: first(client.project.list_audit_records(page_size=7)),
        project.ListAuditRecordsResponse(
            records=[AuditRecord(action="CreateStore", outcome=AUDIT_OUTCOME_DONE, create_time=NOON_WIRE)]
        ),
        lambda record: (record.action, record.outcome) == ("CreateStore", models.AuditOutcome.DONE),
        {"page_size": 7},
    ),
    "GrantAccess": Case(
        lambda client: client.stores.grant("notes", "p2", "write"),
        stores.GrantAccessResponse(grant=GRANT),
        lambda grant: (grant.principal_id, grant.access) == ("p2", models.GrantedAccess.WRITE),
        {"grant.store_id": "notes", "grant.principal_id": "p2", "grant.access": 2},
    ),
    "RevokeAccess": Case(
        lambda client: client.stores.revoke("notes", "p2"),
        stores.RevokeAccessResponse(),
        lambda answer: answer is None,
        {"store_id": "notes", "principal_id": "p2"},
    ),
    "ListGrants": Case(
        lambda client: first(client.stores.list_grants("notes", page_size=7)),
        stores.ListGrantsResponse(grants=[GRANT]),
        lambda grant: grant.store_id == "notes",
        {"store_id": "notes", "page_size": 7},
    ),
    "DeleteStore": Case(
        lambda client: client.stores.delete("notes", force=True),
        stores.DeleteStoreResponse(),
        lambda answer: answer is None,
        {"store_id": "notes", "force": True},
    ),
    "GetProject": Case(
        lambda client: client.project.get(),
        project.GetProjectResponse(project=wire_project()),
        lambda found: found.project_id == "p1" and found.language is None,
        {},
    ),
    "ListEmbeddingModels": Case(
        lambda client: client.project.list_embedding_models(),
        project.ListEmbeddingModelsResponse(embedding_models=[MODEL]),
        lambda found: [(model.name, model.done_count, model.total_count) for model in found] == [("m", 2, 3)],
        {},
    ),
    "RegisterEmbeddingModel": Case(
        lambda client: client.project.register_embedding_model("m"),
        project.RegisterEmbeddingModelResponse(embedding_model=MODEL),
        lambda model: (model.state, model.refused_count) == (models.EmbeddingModelState.PREPARING, 1),
        {"name": "m"},
    ),
    "SwitchEmbeddingModel": Case(
        lambda client: client.project.switch_embedding_model("m", force=True),
        project.SwitchEmbeddingModelResponse(embedding_model=MODEL),
        lambda model: model.dimension == 8,
        {"name": "m", "force": True},
    ),
    "DropEmbeddingModel": Case(
        lambda client: client.project.drop_embedding_model("m"),
        project.DropEmbeddingModelResponse(embedding_model=MODEL),
        lambda model: model.name == "m",
        {"name": "m"},
    ),
    "UpdateProject": Case(
        lambda client: client.project.update(
            models.ProjectChanges(metadata_keys=[models.MetadataKey(name="plan", value_type="string")]),
            expected_revision=3,
            force=True,
        ),
        project.UpdateProjectResponse(project=wire_project()),
        lambda found: found.project_id == "p1",
        {"update_mask.paths": ["settings.metadata_keys"], "expected_revision": 3, "force": True},
    ),
    "WhoAmI": Case(
        lambda client: client.identity.who_am_i(),
        wire_who_am_i(),
        lambda who: who.kind == "service" and who.roles == ("writer",),
        {},
    ),
    "IssueToken": Case(
        lambda client: client.identity.issue_token(["ann", "team"], lifetime=timedelta(minutes=5)),
        identity.IssueTokenResponse(access_token="a.b.c", expire_time=NOON_WIRE),
        lambda token: token.access_token == "a.b.c" and "a.b.c" not in repr(token),
        {"user_ids": ["ann", "team"], "lifetime.seconds": 300, "client_id": ""},
    ),
    "GetSigningKeys": Case(
        lambda client: client.identity.signing_keys(),
        identity.GetSigningKeysResponse(jwks_json='{"keys": [{"kid": "k1"}]}'),
        lambda keys: keys == {"keys": [{"kid": "k1"}]},
        {},
    ),
    "CreateServiceAccount": Case(
        lambda client: client.identity.create_service_account("agent", role="writer"),
        identity.CreateServiceAccountResponse(service_account=wire_account(), client_secret="rcs-1"),
        lambda made: made.client_secret == "rcs-1" and "rcs-1" not in repr(made),
        {"service_account.name": "agent", "service_account.role": 2},
    ),
    "ListServiceAccounts": Case(
        lambda client: first(client.identity.list_service_accounts(page_size=7)),
        identity.ListServiceAccountsResponse(service_accounts=[wire_account()]),
        lambda account: (account.name, account.role, account.last_use_time) == ("agent", "writer", None),
        {"page_size": 7},
    ),
    "UpdateServiceAccount": Case(
        lambda client: client.identity.update_service_account("c1", role="admin"),
        identity.UpdateServiceAccountResponse(service_account=wire_account()),
        lambda account: account.client_id == "c1",
        {"service_account.client_id": "c1", "service_account.role": 3, "update_mask.paths": ["role"]},
    ),
    "RotateSecret": Case(
        lambda client: client.identity.rotate_secret("c1", overlap=timedelta(hours=1)),
        identity.RotateSecretResponse(service_account=wire_account(), client_secret="rcs-2"),
        lambda made: made.client_secret == "rcs-2" and made.service_account.secrets[0].secret_id == "s1",
        {"client_id": "c1", "overlap.seconds": 3600},
    ),
    "DisableServiceAccount": Case(
        lambda client: client.identity.disable_service_account("c1"),
        identity.DisableServiceAccountResponse(service_account=wire_account(disabled=True)),
        lambda account: account.disabled,
        {"client_id": "c1"},
    ),
    "EnableServiceAccount": Case(
        lambda client: client.identity.enable_service_account("c1"),
        identity.EnableServiceAccountResponse(service_account=wire_account()),
        lambda account: not account.disabled,
        {"client_id": "c1"},
    ),
    "DeleteServiceAccount": Case(
        lambda client: client.identity.delete_service_account("c1"),
        identity.DeleteServiceAccountResponse(),
        lambda nothing: nothing is None,
        {"client_id": "c1"},
    ),
    "CreateOrganization": Case(
        lambda client: client.admin.create_organization("Acme"),
        admin.CreateOrganizationResponse(organization=project_pb2.Organization(organization_id="o1")),
        lambda organization: organization.organization_id == "o1",
        {"organization.display_name": "Acme"},
    ),
    "CreateProject": Case(
        lambda client: client.admin.create_project("One", organization_id="o1", language="simple"),
        admin.CreateProjectResponse(project=wire_project()),
        lambda made: made.project_id == "p1",
        {"project.organization_id": "o1", "project.settings.language": "simple"},
    ),
    "GetProjectLimits": Case(
        lambda client: client.admin.get_project_limits("p1"),
        admin.GetProjectLimitsResponse(
            limits=project_pb2.ProjectLimits(stored_memories=0),
            usage=project_pb2.ProjectUsage(stored_bytes=5),
        ),
        lambda found: found == (models.ProjectLimits(stored_memories=0), models.ProjectUsage(stored_bytes=5)),
        {"project_id": "p1"},
    ),
    "UpdateProjectLimits": Case(
        lambda client: client.admin.update_project_limits(
            "p1", models.ProjectLimits(stored_memories=0, stored_bytes=None)
        ),
        admin.UpdateProjectLimitsResponse(limits=project_pb2.ProjectLimits(stored_memories=0)),
        lambda limits: limits == models.ProjectLimits(stored_memories=0),
        {
            "project_id": "p1",
            "limits.stored_memories": 0,
            "update_mask.paths": ["stored_memories", "stored_bytes"],
        },
    ),
    "ListProjects": Case(
        lambda client: first(client.admin.list_projects(organization_id="o1")),
        admin.ListProjectsResponse(projects=[wire_project()]),
        lambda found: found.display_name == "One",
        {"organization_id": "o1"},
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
                )
            ]
        ),
        lambda failure: (failure.kind, failure.failure_class, failure.attempts) == ("semantic", "content", 1),
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
    "PromoteSession": Case(
        lambda client: client.sessions.promote(SESSION),
        extraction.PromoteSessionResponse(snapshot_ids=["n1"]),
        lambda ids: ids == ("n1",),
        {"scope.session_id": SESSION.session_id},
    ),
    "ListSnapshots": Case(
        lambda client: first(client.sessions.list_snapshots(scope=models.Matching(user_id="ada"))),
        extraction.ListSnapshotsResponse(
            snapshots=[
                snapshot_pb2.Snapshot(
                    snapshot_id="n1",
                    from_turn_seq=3,
                    cause=snapshot_pb2.PROMOTION_CAUSE_IDLE,
                    extractions=[
                        snapshot_pb2.KindExtraction(
                            kind=memory_pb2.MEMORY_KIND_SEMANTIC, state=snapshot_pb2.EXTRACTION_STATE_DONE
                        )
                    ],
                )
            ]
        ),
        lambda found: (found.from_turn_seq, found.cause, found.extractions[0].state) == (3, "idle", "done"),
        {"scope.matching.user_id": "ada"},
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
    "GetExtractionStatus": Case(
        lambda client: client.sessions.get_extraction_status(SESSION),
        extraction.GetExtractionStatusResponse(
            last_turn_seq=5,
            kinds=[extraction.KindProgress(kind=memory_pb2.MEMORY_KIND_SEMANTIC, extracted_turn_seq=4)],
        ),
        lambda status: (status.last_turn_seq, status.kinds[0].extracted_turn_seq) == (5, 4),
        {"scope.session_id": SESSION.session_id},
    ),
    "GetQueueStatus": Case(
        lambda client: client.admin.get_queue_status(project_id="p1"),
        admin.GetQueueStatusResponse(
            workers=1,
            total=admin.QueueCounts(waiting=2, last_failure_class=failure_pb2.FAILURE_CLASS_CONTENT),
            projects=[admin.ProjectQueue(project_id="p1", counts=admin.QueueCounts(failed=3))],
        ),
        lambda status: (
            (status.total.waiting, status.total.last_failure_class, status.projects[0].counts.failed)
            == (2, "content", 3)
        ),
        {"project_id": "p1"},
    ),
}


def test_no_call_of_the_contract_is_missing() -> None:
    assert set(CASES) == set(METHODS)


@pytest.mark.parametrize("name", CASES)
async def test_call(fake: FakeService, client: AsyncClient, name: str) -> None:
    case = CASES[name]
    fake.answer(name, case.reply)
    answer = await case.invoke(client)
    assert fake.methods() == [name]
    assert case.answer(answer)
    assert {path: read(fake.calls[0].request, path) for path in case.sent} == case.sent


def test_every_mutation_carries_a_request_id() -> None:
    without = {
        name for name, method in METHODS.items() if "request_id" not in method.input_type.fields_by_name
    }
    reads = {
        name
        for name in METHODS
        if name.startswith(("Get", "List", "Search", "Retrieve", "Who", "Build", "Issue", "Wait"))
    }
    assert without == reads


async def test_get_by_key_names_kind_scope_and_key(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("GetMemory", memories.GetMemoryResponse(memory=wire_memory()))
    await client.memories.get_by_key("drink", kind="semantic", scope=models.Exactly(user_id="ada"))
    sent = fake.calls[0].request
    assert (read(sent, "memory_key.kind"), read(sent, "memory_key.key")) == (1, "drink")
    assert read(sent, "memory_key.scope.exactly.user_id") == "ada"


async def test_get_by_key_of_a_term_names_domain_and_term(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("GetMemory", memories.GetMemoryResponse(memory=wire_memory()))
    term = models.TaxonomicDetails(domain="law", term="tort")
    await client.memories.get_by_key(term, kind="taxonomic")
    assert read(fake.calls[0].request, "memory_key.taxonomic.term") == "tort"


def read(message: object, path: str) -> object:
    for name in path.split("."):
        message = getattr(message, name)
    return message


async def test_memories_are_made_of_one_source(client: AsyncClient) -> None:
    conflicting: dict[str, Any] = {"facts": ["a"], "turns": [models.SpokenTurn(role="user", content="b")]}
    for sources in ({}, conflicting):
        with pytest.raises(MemoryClientError, match="one of session, turns and facts"):
            await client.extraction.generate(**sources)


async def test_a_range_of_a_session_is_sent_as_it_is(client: AsyncClient, fake: FakeService) -> None:
    fake.answer("GenerateMemories", extraction.GenerateMemoriesResponse())
    await client.extraction.generate(session=models.SessionRange(scope=SESSION, to_turn_seq=7))
    sent = fake.calls[-1].request
    assert (sent.session.scope.session_id, sent.session.from_turn_seq, sent.session.to_turn_seq) == (
        "s1",
        0,
        7,
    )
