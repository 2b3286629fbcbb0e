"""The audit over a real server: acts leave a record, denials a bounded number, and content none."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import grpc
import grpc.aio
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import (
    admin_service_pb2,
    audit_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    project_pb2,
    project_service_pb2,
    store_pb2,
    store_service_pb2,
)
from ricordo_server.app.audit import DenialCounts
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from tests.fixtures.calls import OPERATOR, as_user, refusal
from tests.fixtures.database import TestDatabase, make_project
from tests.fixtures.project_settings import update
from tests.fixtures.stubs import Admin, Projects, Stores

pb, st, ad = project_service_pb2, store_service_pb2, admin_service_pb2
DONE, DENIED = audit_pb2.AUDIT_OUTCOME_DONE, audit_pb2.AUDIT_OUTCOME_DENIED


async def read(projects: Projects, **fields: Any) -> list[audit_pb2.AuditRecord]:
    return list((await projects.ListAuditRecords(pb.ListAuditRecordsRequest(**fields))).records)


async def told(projects: Projects) -> list[tuple[str, int, str]]:
    return [(record.action, record.outcome, record.subject) for record in await read(projects)]


async def test_each_administrative_act_leaves_a_record(projects: Projects, stores: Stores) -> None:
    store = store_pb2.Store(store_id="notes", description="secret plans")
    await stores.CreateStore(st.CreateStoreRequest(store=store))
    mask = FieldMask(paths=["description", "access"])
    await stores.UpdateStore(st.UpdateStoreRequest(store=store, update_mask=mask))
    grant = store_pb2.StoreGrant(
        store_id="notes", principal_id="user:ann", access=store_pb2.GRANTED_ACCESS_READ
    )
    await stores.GrantAccess(st.GrantAccessRequest(grant=grant))
    for _ in range(2):  # the second takes nothing back
        await stores.RevokeAccess(st.RevokeAccessRequest(store_id="notes", principal_id="user:ann"))
    await stores.DeleteStore(st.DeleteStoreRequest(store_id="notes"))
    await projects.UpdateProject(update(language="german"))
    assert await told(projects) == [
        ("UpdateProject", DONE, "language"),
        ("DeleteStore", DONE, "notes"),
        ("RevokeAccess", DONE, "notes: user:ann"),
        ("GrantAccess", DONE, "notes: user:ann READ"),
        ("UpdateStore", DONE, "notes: access, description"),
        ("CreateStore", DONE, "notes"),
    ]
    assert {record.principal_id for record in await read(projects)} == {"development"}


async def test_what_fails_leaves_none(projects: Projects, stores: Stores) -> None:
    store = store_pb2.Store(store_id="default")
    assert (await refusal(stores.CreateStore(st.CreateStoreRequest(store=store))))[1] == "ID_TAKEN"
    assert await told(projects) == []


async def test_a_repeat_leaves_no_second_one(projects: Projects, stores: Stores) -> None:
    request = st.CreateStoreRequest(store=store_pb2.Store(store_id="notes"), request_id="r")
    for _ in range(2):
        await stores.CreateStore(request)
    assert len(await read(projects)) == 1


async def test_a_flood_of_denials_is_a_handful_of_records(
    projects: Projects, stores: Stores, project_id: UUID
) -> None:
    request = st.CreateStoreRequest(store=store_pb2.Store(store_id="notes"))
    for _ in range(25):
        assert (await refusal(stores.CreateStore(request, metadata=as_user(project_id, "ann"))))[
            0
        ] is grpc.StatusCode.PERMISSION_DENIED
    records = await read(projects)
    assert [(record.outcome, record.occurrences) for record in records] == [(DENIED, 10), (DENIED, 1)]
    last = records[0]
    assert last.action == "/ricordo.v1.StoreService/CreateStore"
    assert (last.principal_id, last.user_id, last.subject) == ("user:ann", "ann", "")


async def test_denials_hold_no_content(
    channel: grpc.aio.Channel, projects: Projects, project_id: UUID
) -> None:
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    memory = memory_pb2.Memory(kind=memory_pb2.MEMORY_KIND_SEMANTIC, content="canary", key="canary")
    request = memory_service_pb2.CreateMemoryRequest(memory=memory, request_id="canary")
    await refusal(memories.CreateMemory(request, metadata=as_user(project_id, "ann")))
    [record] = await read(projects)
    assert "canary" not in str(record)


async def test_concurrent_denials_are_all_answered(stores: Stores, project_id: UUID) -> None:
    request = st.CreateStoreRequest(store=store_pb2.Store(store_id="notes"))
    calls = [
        stores.CreateStore(request, metadata=as_user(project_id, f"user{number}")) for number in range(50)
    ]
    answers = await asyncio.gather(*(refusal(call) for call in calls))
    assert {reason for _, reason, _ in answers} == {"PERMISSION_DENIED"}


async def test_only_administrators_read_it(projects: Projects, project_id: UUID) -> None:
    call = projects.ListAuditRecords(pb.ListAuditRecordsRequest(), metadata=as_user(project_id, "ann"))
    assert (await refusal(call))[1] == "PERMISSION_DENIED"


async def test_it_is_read_by_pages(projects: Projects, stores: Stores) -> None:
    for number in range(3):
        store = store_pb2.Store(store_id=f"store-{number}")
        await stores.CreateStore(st.CreateStoreRequest(store=store))
    first = await projects.ListAuditRecords(pb.ListAuditRecordsRequest(page_size=2))
    second = await projects.ListAuditRecords(
        pb.ListAuditRecordsRequest(page_size=2, page_token=first.next_page_token)
    )
    subjects = [record.subject for record in (*first.records, *second.records)]
    assert (subjects, second.next_page_token) == (["store-2", "store-1", "store-0"], "")


def test_denials_are_counted_by_principal_method_and_hour(project_id: UUID) -> None:
    now = 0.0
    counts = DenialCounts(clock=lambda: now)
    ann, bob = (
        Principal(name, PrincipalKind.SERVICE, project_id, frozenset({Role.READER})) for name in ("a", "b")
    )
    recorded = [count for _ in range(1_000) if (count := counts.count(ann, "x"))]
    assert recorded == [1, 10, 100, 1_000]
    assert (counts.count(bob, "x"), counts.count(ann, "y"), counts.count(ann, "x")) == (1, 1, None)
    now = 3600.0
    assert counts.count(ann, "x") == 1


async def by_operators(admin: Admin, **fields: Any) -> list[tuple[str, str, str]]:
    answer = await admin.ListOperatorRecords(ad.ListOperatorRecordsRequest(**fields), metadata=OPERATOR)
    return [(record.action, record.principal_id, record.subject) for record in answer.records]


async def test_operators_read_what_operators_did(admin: Admin) -> None:
    organization = project_pb2.Organization(display_name="acme")
    made = await admin.CreateOrganization(
        ad.CreateOrganizationRequest(organization=organization), metadata=OPERATOR
    )
    newest = (await by_operators(admin, page_size=1))[0]
    assert newest == ("CreateOrganization", "development-operator", made.organization.organization_id)


async def test_of_one_project_they_read_what_was_done_to_it_also_once_it_is_gone(
    admin: Admin, database: TestDatabase
) -> None:
    project_id, other = make_project(database), make_project(database)
    mask = FieldMask(paths=["stored_memories"])
    for each in (project_id, other):
        request = ad.UpdateProjectLimitsRequest(project_id=str(each), update_mask=mask)
        await admin.UpdateProjectLimits(request, metadata=OPERATOR)
    await admin.DeleteProject(
        ad.DeleteProjectRequest(project_id=str(project_id), force=True), metadata=OPERATOR
    )
    assert await by_operators(admin, project_id=str(project_id)) == [
        ("DeleteProject", "development-operator", str(project_id)),
        ("UpdateProjectLimits", "development-operator", f"{project_id}: stored_memories"),
    ]


async def test_what_projects_did_is_not_among_it(admin: Admin, stores: Stores) -> None:
    await stores.CreateStore(st.CreateStoreRequest(store=store_pb2.Store(store_id=f"notes-{uuid4().hex}")))
    assert "CreateStore" not in {action for action, _, _ in await by_operators(admin, page_size=1_000)}


async def test_only_operators_read_it(admin: Admin) -> None:
    call = admin.ListOperatorRecords(ad.ListOperatorRecordsRequest())
    assert (await refusal(call))[1] == "PERMISSION_DENIED"


async def test_it_is_read_by_pages_too(admin: Admin, project_id: UUID) -> None:
    for name in ("stored_memories", "stored_bytes", "concurrent_requests"):
        request = ad.UpdateProjectLimitsRequest(
            project_id=str(project_id), update_mask=FieldMask(paths=[name])
        )
        await admin.UpdateProjectLimits(request, metadata=OPERATOR)
    asked: dict[str, Any] = {"project_id": str(project_id), "page_size": 2}
    first = await admin.ListOperatorRecords(ad.ListOperatorRecordsRequest(**asked), metadata=OPERATOR)
    rest = await by_operators(admin, **asked, page_token=first.next_page_token)
    assert [subject for _, _, subject in rest] == [f"{project_id}: stored_memories"]
