"""Every RPC, asked about what is another's: the answer is what it would be if that did not exist."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from ricordo.v1 import (
    admin_service_pb2,
    context_service_pb2,
    error_reason_pb2,
    extraction_service_pb2,
    filter_pb2,
    identity_service_pb2,
    memory_pb2,
    memory_service_pb2,
    metadata_pb2,
    operation_service_pb2,
    pipeline_pb2,
    pipeline_service_pb2,
    project_pb2,
    project_service_pb2,
    scope_pb2,
    search_pb2,
    service_account_pb2,
    session_pb2,
    session_service_pb2,
    store_pb2,
    store_service_pb2,
    turn_pb2,
)
from ricordo_server.config import Settings
from ricordo_server.embedding import EmbeddingSettings
from ricordo_server.server import running_server
from tests.fixtures.database import TestDatabase, make_project
from tests.isolation.rpc_world import (
    RPCS,
    Answer,
    Names,
    Place,
    absent,
    ask,
    bound,
    digest,
    fill,
    make_place,
    make_store,
    service,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

e, o = extraction_service_pb2, operation_service_pb2
e = extraction_service_pb2
pl = pipeline_service_pb2
m, s, st = memory_service_pb2, session_service_pb2, store_service_pb2
i = identity_service_pb2
SEMANTIC = memory_pb2.MEMORY_KIND_SEMANTIC
EPISODIC = [memory_pb2.MEMORY_KIND_EPISODIC]
WORDS = "green black tea"


def own(names: Names) -> scope_pb2.Scope:
    return scope_pb2.Scope(user_id=names.user_id)


def a_memory(names: Names, **fields: Any) -> memory_pb2.Memory:
    given = {"kind": SEMANTIC, "content": "white tea", "scope": own(names), **fields}
    return memory_pb2.Memory(**given)


def a_turn(names: Names) -> turn_pb2.Turn:
    return turn_pb2.Turn(role="user", content="white tea", idempotency_key=names.turn_key)


def an_account(names: Names, **fields: Any) -> service_account_pb2.ServiceAccount:
    role = service_account_pb2.PROJECT_ROLE_ADMIN
    return service_account_pb2.ServiceAccount(name=names.account_name, role=role, **fields)


def a_grant(names: Names) -> store_pb2.StoreGrant:
    return store_pb2.StoreGrant(
        store_id=names.store_id, principal_id="somebody", access=store_pb2.GRANTED_ACCESS_WRITE
    )


def scopes(names: Names) -> list[scope_pb2.ScopeFilter]:
    return [
        scope_pb2.ScopeFilter(),
        scope_pb2.ScopeFilter(matching=names.scope),
        scope_pb2.ScopeFilter(exactly=names.scope),
        scope_pb2.ScopeFilter(readable_by=scope_pb2.ReadableBy(user_id=names.user_id)),
    ]


def contains(names: Names) -> filter_pb2.Filter:
    value = metadata_pb2.MetadataValue(string_value=names.canary)
    comparator = filter_pb2.COMPARATOR_CONTAINS
    return filter_pb2.Filter(
        comparison=filter_pb2.Comparison(
            path=filter_pb2.FieldPath(segments=["content"]), comparator=comparator, values=[value]
        )
    )


def searches(names: Names) -> list[tuple[search_pb2.SearchOptions, scope_pb2.ScopeFilter]]:
    """Every mode without a scope, and every scope, in words that all places have."""
    modes = (search_pb2.SEARCH_MODE_TEXT, search_pb2.SEARCH_MODE_SEMANTIC, search_pb2.SEARCH_MODE_HYBRID)
    *narrow, everything = [
        search_pb2.SearchOptions(query=WORDS, mode=mode, top_k=200, explain=True) for mode in modes
    ]
    first, *others = scopes(names)
    return [*((options, first) for options in narrow), *((everything, scope) for scope in [first, *others])]


def get_by_key(names: Names) -> list[Message]:
    return [
        m.GetMemoryRequest(memory_key=m.MemoryKey(kind=SEMANTIC, key=names.key, scope=scope))
        for scope in [scope_pb2.ScopeFilter(), scope_pb2.ScopeFilter(exactly=own(names))]
    ]


def put_memories(names: Names) -> list[Message]:
    memory = a_memory(names, key=names.key)
    return [
        m.PutMemoryRequest(memory=memory, expected_revision=1),
        m.PutMemoryRequest(memory=memory, append=True),
        m.PutMemoryRequest(memory=memory, request_id=names.request_id),
    ]


def update_memories(names: Names) -> list[Message]:
    memory = memory_pb2.Memory(memory_id=names.memory_id, content="mine now")
    mask = FieldMask(paths=["content"])
    return [
        m.UpdateMemoryRequest(
            memory=memory, update_mask=mask, expected_revision=expected, request_id=request_id
        )
        for expected, request_id in ((None, ""), (1, names.request_id), (99, ""))
    ]


def delete_memories(names: Names) -> list[Message]:
    return [
        m.DeleteMemoryRequest(memory_id=names.memory_id, purge=purge, expected_revision=expected)
        for purge in (False, True)
        for expected in (None, 1, 99)
    ]


def generate_memories(names: Names) -> list[Message]:
    """Of another's session nothing is read, and of another's facts none is known, updated or replaced."""
    ranges = [e.SessionRange(scope=names.scope), e.SessionRange(scope=names.scope, from_turn_seq=1)]
    fact = e.DirectFacts(facts=[e.DirectFact(content=f"{names.canary} GREEN tea")])
    said = e.InlineTurns(turns=[e.InlineTurn(role="user", content=f"I like {names.canary} white tea.")])
    return [
        *(
            e.GenerateMemoriesRequest(session=run, dry_run=dry_run)
            for run in ranges
            for dry_run in (True, False)
        ),
        *(e.GenerateMemoriesRequest(scope=own(names), session=run, kinds=EPISODIC) for run in ranges),
        e.GenerateMemoriesRequest(scope=own(names), facts=fact),
        e.GenerateMemoriesRequest(scope=own(names), turns=said, request_id=names.request_id),
        e.GenerateMemoriesRequest(session=ranges[0], in_background=True),
        e.GenerateMemoriesRequest(scope=own(names), facts=fact, in_background=True),
    ]


# What may be asked about someone else's names, for each RPC. A new RPC without a line here fails.
CASES: Mapping[str, Callable[[Names], Sequence[Message]]] = {
    "MemoryService.CreateMemory": lambda names: [
        m.CreateMemoryRequest(memory=a_memory(names, memory_id=names.memory_id)),
        m.CreateMemoryRequest(memory=a_memory(names, key=names.key)),
        m.CreateMemoryRequest(memory=a_memory(names), request_id=names.request_id),
    ],
    "MemoryService.BatchCreateMemories": lambda names: [
        m.BatchCreateMemoriesRequest(
            memories=[
                a_memory(names, memory_id=names.memory_id),
                a_memory(names, key=names.key),
                a_memory(names),
            ],
            atomic=atomic,
        )
        for atomic in (True, False)
    ],
    "MemoryService.GetMemory": lambda names: [
        m.GetMemoryRequest(memory_id=names.memory_id),
        m.GetMemoryRequest(memory_id=names.memory_id, include_deleted=True),
        *get_by_key(names),
    ],
    "MemoryService.ListMemories": lambda names: [
        *(m.ListMemoriesRequest(scope=scope, include_deleted=True) for scope in scopes(names)),
        m.ListMemoriesRequest(filter=contains(names)),
    ],
    "MemoryService.UpdateMemory": update_memories,
    "MemoryService.PutMemory": put_memories,
    "MemoryService.DeleteMemory": delete_memories,
    "MemoryService.DeleteMemories": lambda names: [
        *(
            m.DeleteMemoriesRequest(scope=scope, force=force)
            for scope in scopes(names)[1:3]
            for force in (False, True)
        ),
        m.DeleteMemoriesRequest(filter=contains(names), request_id=names.request_id),
        m.DeleteMemoriesRequest(filter=contains(names), force=True),
    ],
    "MemoryService.MoveMemory": lambda names: [
        m.MoveMemoryRequest(
            memory_id=names.memory_id, key="/moved", expected_revision=expected, request_id=request_id
        )
        for expected, request_id in ((None, ""), (1, names.request_id), (99, ""))
    ],
    "MemoryService.SearchMemories": lambda names: [
        m.SearchMemoriesRequest(options=options, scope=scope, include_embedding=True)
        for options, scope in searches(names)
    ],
    "MemoryService.ListMemoryRevisions": lambda names: [
        m.ListMemoryRevisionsRequest(memory_id=names.memory_id)
    ],
    "MemoryService.GetMemoryRevision": lambda names: [
        m.GetMemoryRevisionRequest(memory_id=names.memory_id, revision=revision) for revision in (1, 99)
    ],
    "MemoryService.RollbackMemory": lambda names: [
        m.RollbackMemoryRequest(
            memory_id=names.memory_id, target_revision=revision, expected_revision=expected
        )
        for revision in (1, 99)
        for expected in (None, 1, 99)
    ],
    "MemoryService.RetrieveProfiles": lambda names: [m.RetrieveProfilesRequest(scope=own(names))],
    "MemoryService.ListDomains": lambda names: [m.ListDomainsRequest(scope=scope) for scope in scopes(names)],
    "MemoryService.PurgeMemories": lambda names: [
        m.PurgeMemoriesRequest(user_id=names.memory_id, force=force) for force in (False, True)
    ],
    "SessionService.CreateSession": lambda names: [
        s.CreateSessionRequest(session=session_pb2.Session(scope=names.scope)),
        s.CreateSessionRequest(
            session=session_pb2.Session(scope=own(names), parent_session_id=names.session_id)
        ),
    ],
    "SessionService.GetSession": lambda names: [s.GetSessionRequest(scope=names.scope)],
    "SessionService.ListSessions": lambda names: [
        s.ListSessionsRequest(scope=scope) for scope in scopes(names)
    ],
    "SessionService.UpdateSession": lambda names: [
        s.UpdateSessionRequest(
            session=session_pb2.Session(scope=names.scope),
            update_mask=FieldMask(paths=["metadata"]),
            request_id=request_id,
        )
        for request_id in ("", names.request_id)
    ],
    "SessionService.DeleteSession": lambda names: [
        s.DeleteSessionRequest(scope=names.scope, cascade=cascade) for cascade in (False, True)
    ],
    "SessionService.ForkSession": lambda names: [
        s.ForkSessionRequest(scope=names.scope, up_to_turn_id=turn_id, request_id=request_id)
        for turn_id, request_id in (("", ""), (names.turn_id, ""), ("", names.request_id))
    ],
    "SessionService.PopTurn": lambda names: [
        s.PopTurnRequest(scope=names.scope, request_id=request_id) for request_id in ("", names.request_id)
    ],
    "SessionService.ClearSession": lambda names: [
        s.ClearSessionRequest(scope=names.scope, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "SessionService.RecordTurn": lambda names: [
        s.RecordTurnRequest(scope=names.scope, turn=a_turn(names)),
        s.RecordTurnRequest(scope=names.scope, turn=a_turn(names), request_id=names.request_id),
    ],
    "SessionService.BatchRecordTurns": lambda names: [
        s.BatchRecordTurnsRequest(scope=names.scope, turns=[a_turn(names)]),
        s.BatchRecordTurnsRequest(scope=names.scope, force_flush=True),
        s.BatchRecordTurnsRequest(scope=names.scope, trigger_rule=session_pb2.TriggerRule(turn_count=9)),
    ],
    "SessionService.GetTurn": lambda names: [s.GetTurnRequest(turn_id=names.turn_id)],
    "SessionService.DeleteTurn": lambda names: [
        s.DeleteTurnRequest(turn_id=names.turn_id, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "SessionService.ListTurns": lambda names: [
        *(s.ListTurnsRequest(scope=scope) for scope in scopes(names)),
        s.ListTurnsRequest(filter=contains(names)),
    ],
    "SessionService.SearchTurns": lambda names: [
        s.SearchTurnsRequest(options=options, scope=scope, include_embedding=True)
        for options, scope in searches(names)
    ],
    "ContextService.BuildContext": lambda names: [
        context_service_pb2.BuildContextRequest(
            query=WORDS,
            sources=[
                context_service_pb2.ContextSourceSpec(source=source)
                for source in context_service_pb2.ContextSource.values()
                if source
            ],
            scope=scope,
            include_memories=True,
            explain=True,
        )
        for scope in scopes(names)[:2]
    ],
    "ExtractionService.GenerateMemories": generate_memories,
    "ExtractionService.PromoteSession": lambda names: [
        e.PromoteSessionRequest(scope=names.scope, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "ExtractionService.ListSnapshots": lambda names: [
        e.ListSnapshotsRequest(scope=scope) for scope in scopes(names)
    ],
    "ExtractionService.ListFailures": lambda names: [
        e.ListFailuresRequest(scope=scope) for scope in scopes(names)
    ],
    "ExtractionService.RetryFailure": lambda names: [
        e.RetryFailureRequest(snapshot_id=names.turn_id, kind=SEMANTIC, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "ExtractionService.ListHeldMemories": lambda names: [
        e.ListHeldMemoriesRequest(scope=scope) for scope in scopes(names)
    ],
    "ExtractionService.ApproveMemory": lambda names: [
        e.ApproveMemoryRequest(held_memory_id=names.held_memory_id, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "ExtractionService.RejectMemory": lambda names: [
        e.RejectMemoryRequest(held_memory_id=names.held_memory_id, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "ExtractionService.GetExtractionStatus": lambda names: [e.GetExtractionStatusRequest(scope=names.scope)],
    "OperationService.GetOperation": lambda names: [o.GetOperationRequest(operation_id=names.operation_id)],
    "OperationService.WaitOperation": lambda names: [o.WaitOperationRequest(operation_id=names.operation_id)],
    "OperationService.ListOperations": lambda names: [
        o.ListOperationsRequest(scope=scope) for scope in scopes(names)
    ],
    "OperationService.CancelOperation": lambda names: [
        o.CancelOperationRequest(operation_id=names.operation_id, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    # Into a store that is not there: two places of one project would find the same one, with or without a pipeline.
    "PipelineService.CreatePipeline": lambda names: [
        pl.CreatePipelineRequest(
            pipeline=pipeline_pb2.Pipeline(target_store_id=names.key[:40]), request_id=names.request_id
        )
    ],
    "PipelineService.GetPipeline": lambda names: [pl.GetPipelineRequest(pipeline_id=names.pipeline_id)],
    "PipelineService.ListPipelines": lambda names: [pl.ListPipelinesRequest()],
    "PipelineService.UpdatePipeline": lambda names: [
        pl.UpdatePipelineRequest(
            pipeline=pipeline_pb2.Pipeline(pipeline_id=names.pipeline_id, display_name="mine now"),
            update_mask=FieldMask(paths=["display_name"]),
            request_id=request_id,
        )
        for request_id in ("", names.request_id)
    ],
    "PipelineService.DeletePipeline": lambda names: [
        pl.DeletePipelineRequest(pipeline_id=names.pipeline_id, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "PipelineService.RunPipeline": lambda names: [
        pl.RunPipelineRequest(pipeline_id=names.pipeline_id, request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "PipelineService.ListPipelineRuns": lambda names: [
        pl.ListPipelineRunsRequest(pipeline_id=names.pipeline_id)
    ],
    "PipelineService.GetPipelineRun": lambda names: [pl.GetPipelineRunRequest(run_id=names.run_id)],
    "StoreService.CreateStore": lambda names: [
        st.CreateStoreRequest(store=store_pb2.Store(store_id=names.store_id), request_id=names.request_id)
    ],
    "StoreService.GetStore": lambda names: [st.GetStoreRequest(store_id=names.store_id)],
    "StoreService.ListStores": lambda names: [st.ListStoresRequest()],
    "StoreService.UpdateStore": lambda names: [
        st.UpdateStoreRequest(
            store=store_pb2.Store(store_id=names.store_id, description="mine now"),
            update_mask=FieldMask(paths=["description"]),
        )
    ],
    "StoreService.DeleteStore": lambda names: [
        st.DeleteStoreRequest(store_id=names.store_id, force=force) for force in (False, True)
    ],
    "StoreService.GrantAccess": lambda names: [
        st.GrantAccessRequest(grant=a_grant(names), request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "StoreService.RevokeAccess": lambda names: [
        st.RevokeAccessRequest(store_id=names.store_id, principal_id="somebody")
    ],
    "StoreService.ListGrants": lambda names: [st.ListGrantsRequest(store_id=names.store_id)],
    "ProjectService.GetProject": lambda names: [project_service_pb2.GetProjectRequest()],
    "ProjectService.UpdateProject": lambda names: [
        project_service_pb2.UpdateProjectRequest(
            project=project_pb2.Project(settings=project_pb2.ProjectSettings(language="german")),
            update_mask=FieldMask(paths=["settings.language"]),
            expected_revision=99,  # or each call would answer a revision of its own
            request_id=request_id,
        )
        for request_id in ("", names.request_id)
    ],
    "ProjectService.ListEmbeddingModels": lambda names: [project_service_pb2.ListEmbeddingModelsRequest()],
    "ProjectService.RegisterEmbeddingModel": lambda names: [
        project_service_pb2.RegisterEmbeddingModelRequest(name="hashing-64", request_id=request_id)
        for request_id in ("", names.request_id)
    ],
    "ProjectService.SwitchEmbeddingModel": lambda names: [
        project_service_pb2.SwitchEmbeddingModelRequest(name="hashing-64", force=force, request_id=request_id)
        for force in (False, True)
        for request_id in ("", names.request_id)
    ],
    "ProjectService.DropEmbeddingModel": lambda names: [
        project_service_pb2.DropEmbeddingModelRequest(name=name, request_id=request_id)
        for name, request_id in (("hashing-64", ""), ("hashing-64", names.request_id), (names.key, ""))
    ],
    "ProjectService.ListAuditRecords": lambda names: [project_service_pb2.ListAuditRecordsRequest()],
    "IdentityService.WhoAmI": lambda names: [i.WhoAmIRequest()],
    "IdentityService.IssueToken": lambda names: [
        i.IssueTokenRequest(client_id=names.client_id, client_secret=f"rcs-12345678-{'x' * 43}"),
        i.IssueTokenRequest(client_id=names.client_id),
        i.IssueTokenRequest(user_ids=[names.user_id]),
    ],
    "IdentityService.GetSigningKeys": lambda names: [i.GetSigningKeysRequest()],
    "IdentityService.CreateServiceAccount": lambda names: [
        i.CreateServiceAccountRequest(service_account=an_account(names), request_id=names.request_id)
    ],
    "IdentityService.ListServiceAccounts": lambda names: [i.ListServiceAccountsRequest()],
    "IdentityService.UpdateServiceAccount": lambda names: [
        i.UpdateServiceAccountRequest(
            service_account=an_account(names, client_id=names.client_id),
            update_mask=FieldMask(paths=["role"]),
        )
    ],
    "IdentityService.RotateSecret": lambda names: [i.RotateSecretRequest(client_id=names.client_id)],
    "IdentityService.DisableServiceAccount": lambda names: [
        i.DisableServiceAccountRequest(client_id=names.client_id)
    ],
    "IdentityService.EnableServiceAccount": lambda names: [
        i.EnableServiceAccountRequest(client_id=names.client_id)
    ],
    "IdentityService.DeleteServiceAccount": lambda names: [
        i.DeleteServiceAccountRequest(client_id=names.client_id)
    ],
    "AdminService.CreateOrganization": lambda names: [
        admin_service_pb2.CreateOrganizationRequest(
            organization=project_pb2.Organization(organization_id=names.organization_id, display_name="o")
        )
    ],
    "AdminService.CreateProject": lambda names: [
        admin_service_pb2.CreateProjectRequest(
            project=project_pb2.Project(organization_id=names.organization_id, display_name="p")
        )
    ],
    "AdminService.DeleteProject": lambda names: [
        admin_service_pb2.DeleteProjectRequest(project_id=names.organization_id, force=force)
        for force in (False, True)
    ],
    "AdminService.ListOperatorRecords": lambda names: [
        admin_service_pb2.ListOperatorRecordsRequest(),
        admin_service_pb2.ListOperatorRecordsRequest(project_id=names.organization_id),
    ],
    "AdminService.ListProjects": lambda names: [
        admin_service_pb2.ListProjectsRequest(),
        admin_service_pb2.ListProjectsRequest(organization_id=names.organization_id),
    ],
    "AdminService.GetQueueStatus": lambda names: [
        admin_service_pb2.GetQueueStatusRequest(),
        admin_service_pb2.GetQueueStatusRequest(project_id=str(uuid4())),
    ],
    # The test's places have the same id for their project and its organization.
    "AdminService.GetProjectLimits": lambda names: [
        admin_service_pb2.GetProjectLimitsRequest(project_id=names.organization_id)
    ],
    "AdminService.UpdateProjectLimits": lambda names: [
        admin_service_pb2.UpdateProjectLimitsRequest(
            project_id=names.organization_id, update_mask=FieldMask(paths=["stored_memories"])
        )
    ],
}

HELD = {f"ExtractionService.{name}" for name in ("ListHeldMemories", "ApproveMemory", "RejectMemory")}
# Their answers hold nothing that a project does.
ABOUT_THE_CREDENTIAL = {f"IdentityService.{name}" for name in ("WhoAmI", "IssueToken", "GetSigningKeys")}

EVERY_RPC = pytest.mark.parametrize("rpc", CASES)
EVERY_RPC_IN_STORES = pytest.mark.parametrize(
    "rpc",
    [
        rpc
        for rpc in CASES
        if "store_id" in RPCS[rpc].input_type.fields_by_name and not rpc.startswith("StoreService")
    ],
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def channel(database: TestDatabase, key_secret: str) -> AsyncIterator[grpc.aio.Channel]:
    """One server for all: what a test leaves behind lies in a project or store of its own."""
    settings = Settings(
        database_url=database.app_url,
        operator_url=database.operator_url,
        port=0,
        development_project=make_project(database),
        key_secret=key_secret,
        embedding=EmbeddingSettings(provider="hashing"),
        shutdown_grace=0,
    )
    async with (
        running_server(settings) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as opened,
    ):
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def far(channel: grpc.aio.Channel, database: TestDatabase) -> Place:
    return await fill(channel, make_place(database))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def beside(channel: grpc.aio.Channel, database: TestDatabase) -> Place:
    return await fill(channel, make_store(database, make_project(database)))


@pytest_asyncio.fixture(loop_scope="module")
async def near(channel: grpc.aio.Channel, database: TestDatabase) -> Place:
    """Where a test asks from: it has rows of its own too."""
    return await fill(channel, make_place(database))


@pytest_asyncio.fixture(loop_scope="module")
async def bob(channel: grpc.aio.Channel, near: Place) -> Place:
    return await fill(channel, replace(near, names=Names(user_id="bob")), by_user=True)


async def compare(
    channel: grpc.aio.Channel, rpc: str, token: str, theirs: Place, nobodys: Names, **changes: str
) -> None:
    """Asks about their names and about absent ones: equal answers, and nothing of theirs in any."""
    for known, unknown in zip(CASES[rpc](theirs.names), CASES[rpc](nobodys), strict=True):
        answers = []
        for request, names in ((known, theirs.names), (unknown, nobodys)):
            set_fields(request, changes)
            answers.append(await ask(channel, rpc, request, token, names))
        assert answers[0].text == answers[1].text, known
        assert not any(shows(answer.reply, theirs) for answer in answers if answer.reply), known


def set_fields(request: Message, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        if name in request.DESCRIPTOR.fields_by_name:
            setattr(request, name, value)


def shows(reply: Message, place: Place) -> bool:
    """A reply may repeat the names it was asked for, but no word of what the place holds."""
    return any(f"{place.names.canary} {color} tea" in str(reply) for color in ("green", "black"))


async def test_every_rpc_has_a_case() -> None:
    assert set(CASES) == set(RPCS)


@pytest.mark.parametrize(
    "rpc",
    # Users have the same names everywhere: there is no purge that only one of two projects would notice.
    [
        rpc
        for rpc in CASES
        if (
            rpc.startswith(("Memory", "Session", "Context", "Operation"))
            and rpc != "MemoryService.PurgeMemories"
        )
        or rpc in HELD
    ],
)
async def test_the_owner_itself_would_be_noticed(channel: grpc.aio.Channel, near: Place, rpc: str) -> None:
    """The comparisons below can fail: to whom the names belong, they are not as absent."""
    with pytest.raises(AssertionError):
        await compare(channel, rpc, service(near), near, absent(near.names))


@EVERY_RPC
async def test_another_project_is_as_absent(
    channel: grpc.aio.Channel, database: TestDatabase, near: Place, far: Place, rpc: str
) -> None:
    before = digest(database, far)
    await compare(channel, rpc, service(near), far, absent(far.names))
    assert digest(database, far) == before


@EVERY_RPC_IN_STORES
async def test_another_store_is_as_absent(
    channel: grpc.aio.Channel, database: TestDatabase, beside: Place, rpc: str
) -> None:
    """But for request ids, which are the principal's own in all stores of its project."""
    here = await fill(channel, make_store(database, beside.project_id))
    before = digest(database, beside)
    asked = {"store_id": here.store_id, "request_id": ""}
    await compare(channel, rpc, service(beside), beside, absent(beside.names), **asked)
    assert digest(database, beside) == before


@EVERY_RPC
async def test_another_user_is_as_absent(
    channel: grpc.aio.Channel, database: TestDatabase, near: Place, bob: Place, rpc: str
) -> None:
    """Asked in Ann's own name about what is Bob's."""
    before = digest(database, bob)
    in_anns_name = replace(bob, names=replace(bob.names, user_id="ann"))
    await compare(channel, rpc, bound(near, "ann"), in_anns_name, absent(in_anns_name.names))
    assert digest(database, bob) == before


@EVERY_RPC_IN_STORES
async def test_a_store_of_another_project_is_as_absent(
    channel: grpc.aio.Channel, beside: Place, far: Place, rpc: str
) -> None:
    for request in CASES[rpc](Names()):
        answers = []
        for names in (far.names, Names()):
            set_fields(request, {"store_id": names.store_id})
            answers.append(await ask(channel, rpc, request, service(beside), names))
        assert answers[0].reason == "STORE_NOT_FOUND"
        assert answers[0].text == answers[1].text


@EVERY_RPC
async def test_a_bound_user_names_nobody_else(channel: grpc.aio.Channel, far: Place, rpc: str) -> None:
    for request in CASES[rpc](Names(user_id="bob")):
        if b"bob" in request.SerializeToString():
            answer = await ask(channel, rpc, request, bound(far, "ann"), far.names)
            assert reasons(answer) == {"PERMISSION_DENIED"}, request


def reasons(answer: Answer) -> set[str]:
    """Of a batch that of each item."""
    if answer.reply is None:
        return {answer.reason}
    names = [error_reason_pb2.ErrorReason.Name(result.error.reason) for result in answer.reply.results]
    return {name.removeprefix("ERROR_REASON_") for name in names}


@EVERY_RPC
async def test_an_unknown_project_holds_nothing(channel: grpc.aio.Channel, far: Place, rpc: str) -> None:
    if rpc in ABOUT_THE_CREDENTIAL:
        return
    for request in CASES[rpc](far.names):
        answer = await ask(channel, rpc, request, f"development:{uuid4()}", far.names)
        assert answer.reply is None or not answer.reply.ByteSize(), request


@pytest.mark.parametrize("rpc", [rpc for rpc in CASES if not rpc.startswith(("Admin", "Identity"))])
async def test_an_operator_is_in_no_project(channel: grpc.aio.Channel, far: Place, rpc: str) -> None:
    for request in CASES[rpc](far.names):
        answer = await ask(channel, rpc, request, "development:operator", far.names)
        assert answer.reason == "PERMISSION_DENIED", request


LISTS = {
    "MemoryService.ListMemories": m.ListMemoriesRequest,
    "MemoryService.ListDomains": m.ListDomainsRequest,
    "SessionService.ListSessions": s.ListSessionsRequest,
    "SessionService.ListTurns": s.ListTurnsRequest,
    "StoreService.ListStores": st.ListStoresRequest,
    "IdentityService.ListServiceAccounts": i.ListServiceAccountsRequest,
}


@pytest.mark.parametrize("rpc", LISTS)
async def test_the_page_token_of_another_project_is_none(
    channel: grpc.aio.Channel, database: TestDatabase, near: Place, rpc: str
) -> None:
    theirs = replace(make_place(database), names=Names())
    for names in (theirs.names, Names()):
        await fill(channel, replace(theirs, names=names))
    page = (await ask(channel, rpc, LISTS[rpc](page_size=1), service(theirs), theirs.names)).reply
    assert page.next_page_token
    request = LISTS[rpc](page_size=1, page_token=page.next_page_token)
    assert (await ask(channel, rpc, request, service(near), near.names)).reason == "INVALID_PAGE_TOKEN"


@pytest.mark.parametrize("rpc", ["MemoryService.UpdateMemory", "MemoryService.DeleteMemory"])
async def test_what_another_user_shares_is_read_but_not_changed(
    channel: grpc.aio.Channel, database: TestDatabase, near: Place, bob: Place, rpc: str
) -> None:
    names = bob.names
    shared = a_memory(names, memory_id=names.memory_id, visibility=scope_pb2.VISIBILITY_PROJECT)
    publish = m.UpdateMemoryRequest(memory=shared, update_mask=FieldMask(paths=["visibility"]))
    assert (await ask(channel, "MemoryService.UpdateMemory", publish, service(near), names)).reply
    before = digest(database, bob)

    read = m.GetMemoryRequest(memory_id=names.memory_id)
    assert (await ask(channel, "MemoryService.GetMemory", read, bound(near, "ann"), names)).reply
    for request in CASES[rpc](names):
        answer = await ask(channel, rpc, request, bound(near, "ann"), names)
        assert answer.reason in ("PERMISSION_DENIED", "REVISION_MISMATCH"), request
    assert digest(database, bob) == before


@pytest.mark.parametrize("request_type", [m.CreateMemoryRequest, m.PutMemoryRequest])
async def test_a_bound_user_publishes_nothing(
    channel: grpc.aio.Channel, far: Place, request_type: type[Message]
) -> None:
    memory = a_memory(far.names, key="tea", visibility=scope_pb2.VISIBILITY_PROJECT)
    rpc = f"MemoryService.{request_type.DESCRIPTOR.name.removesuffix('Request')}"
    answer = await ask(channel, rpc, request_type(memory=memory), bound(far, "ann"), far.names)
    assert answer.reason == "PERMISSION_DENIED"
