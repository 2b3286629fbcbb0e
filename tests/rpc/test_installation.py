"""Who the caller is, its project, and the operator's work: IdentityService, ProjectService, AdminService."""

from collections.abc import Awaitable
from typing import Any
from uuid import UUID, uuid4

import grpc
import grpc.aio
import psycopg
import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from ricordo.v1 import admin_service_pb2 as admin_pb
from ricordo.v1 import (
    admin_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
    project_pb2,
    store_service_pb2,
    store_service_pb2_grpc,
)
from ricordo.v1 import identity_service_pb2 as identity_pb
from ricordo.v1 import project_service_pb2 as project_pb
from ricordo_server.config import Settings
from ricordo_server.server import open_services, serving
from tests.fixtures.calls import OPERATOR, as_service, as_user, refusal
from tests.fixtures.database import TestDatabase
from tests.fixtures.stubs import Admin, Identity, Projects

DENIED, INVALID = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.INVALID_ARGUMENT


def organization(name: str, **fields: Any) -> admin_pb.CreateOrganizationRequest:
    return admin_pb.CreateOrganizationRequest(
        organization=project_pb2.Organization(display_name=name), **fields
    )


def project(
    organization_id: str, name: str = "p", language: str | None = None, **fields: Any
) -> admin_pb.CreateProjectRequest:
    settings = project_pb2.ProjectSettings(language=language)
    return admin_pb.CreateProjectRequest(
        project=project_pb2.Project(organization_id=organization_id, display_name=name, settings=settings),
        **fields,
    )


async def new_organization(admin: Admin) -> str:
    answer = await admin.CreateOrganization(organization("o"), metadata=OPERATOR)
    return answer.organization.organization_id


async def test_a_caller_learns_what_the_server_makes_of_it(identity: Identity, project_id: UUID) -> None:
    service = await identity.WhoAmI(identity_pb.WhoAmIRequest())
    assert (service.kind, service.project_id) == (identity_pb.PRINCIPAL_KIND_SERVICE, str(project_id))
    assert list(service.roles) == ["admin", "reader", "writer"]
    user = await identity.WhoAmI(identity_pb.WhoAmIRequest(), metadata=as_user(project_id, "ann", "team"))
    assert (user.kind, list(user.user_ids)) == (identity_pb.PRINCIPAL_KIND_USER, ["ann", "team"])
    operator = await identity.WhoAmI(identity_pb.WhoAmIRequest(), metadata=OPERATOR)
    assert (operator.kind, operator.project_id) == (identity_pb.PRINCIPAL_KIND_OPERATOR, "")
    assert list(operator.roles) == ["operator"]


async def test_a_caller_reads_its_own_project(projects: Projects, project_id: UUID) -> None:
    for metadata in (None, as_user(project_id, "ann")):
        read = (await projects.GetProject(project_pb.GetProjectRequest(), metadata=metadata)).project
        assert (read.project_id, read.display_name) == (str(project_id), "test")
        assert not read.settings.HasField("language")


async def test_a_project_that_is_not_there_is_not_found(projects: Projects) -> None:
    call = projects.GetProject(project_pb.GetProjectRequest(), metadata=as_service(str(uuid4())))
    assert await refusal(call) == (grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND", "")


async def test_an_operator_makes_a_project_that_works_at_once(
    admin: Admin, projects: Projects, channel: grpc.aio.Channel
) -> None:
    organization_id = await new_organization(admin)
    request = project(organization_id, "new", "german")
    created = (await admin.CreateProject(request, metadata=OPERATOR)).project
    inside = as_service(created.project_id)
    read = (await projects.GetProject(project_pb.GetProjectRequest(), metadata=inside)).project
    assert read == created
    assert (read.organization_id, read.display_name, read.settings.language) == (
        organization_id,
        "new",
        "german",
    )
    stores = store_service_pb2_grpc.StoreServiceStub(channel)
    listed = (await stores.ListStores(store_service_pb2.ListStoresRequest(), metadata=inside)).stores
    assert [(store.store_id, store.creator_id) for store in listed] == [("default", "development-operator")]
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    assert not (
        await memories.ListMemories(memory_service_pb2.ListMemoriesRequest(), metadata=inside)
    ).memories


async def test_a_repeated_request_id_makes_one(admin: Admin) -> None:
    request = organization("once", request_id=str(uuid4()))
    first = await admin.CreateOrganization(request, metadata=OPERATOR)
    assert await admin.CreateOrganization(request, metadata=OPERATOR) == first
    request_id = str(uuid4())
    made = project(first.organization.organization_id, request_id=request_id)
    assert await admin.CreateProject(made, metadata=OPERATOR) == await admin.CreateProject(
        made, metadata=OPERATOR
    )
    other = project(first.organization.organization_id, "other", request_id=request_id)
    code, reason, _ = await refusal(admin.CreateProject(other, metadata=OPERATOR))
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "REQUEST_ID_REUSED")


async def test_projects_are_listed_newest_first_by_organization(admin: Admin) -> None:
    organization_id = await new_organization(admin)
    made = [
        (await admin.CreateProject(project(organization_id, str(n)), metadata=OPERATOR)).project
        for n in range(3)
    ]
    request = admin_pb.ListProjectsRequest(organization_id=organization_id, page_size=2)
    first = await admin.ListProjects(request, metadata=OPERATOR)
    request.page_token = first.next_page_token
    rest = await admin.ListProjects(request, metadata=OPERATOR)
    assert [*first.projects, *rest.projects] == made[::-1]
    assert not rest.next_page_token
    everywhere = await admin.ListProjects(admin_pb.ListProjectsRequest(page_size=1), metadata=OPERATOR)
    assert everywhere.next_page_token


async def test_a_bad_request_of_an_operator_is_refused_with_its_field(admin: Admin) -> None:
    unknown = str(uuid4())
    calls: list[tuple[Awaitable[object], str]] = [
        (admin.CreateOrganization(organization(" "), metadata=OPERATOR), "organization.display_name"),
        (admin.CreateOrganization(organization("x" * 513), metadata=OPERATOR), "organization.display_name"),
        (admin.CreateProject(project(""), metadata=OPERATOR), "project.organization_id"),
        (admin.CreateProject(project("nope"), metadata=OPERATOR), "project.organization_id"),
        (admin.CreateProject(project(unknown, ""), metadata=OPERATOR), "project.display_name"),
        (admin.CreateProject(project(unknown, "p", "x"), metadata=OPERATOR), "project.settings.language"),
        (
            admin.ListProjects(admin_pb.ListProjectsRequest(organization_id="x"), metadata=OPERATOR),
            "organization_id",
        ),
        (
            admin.GetQueueStatus(admin_pb.GetQueueStatusRequest(project_id="x"), metadata=OPERATOR),
            "project_id",
        ),
    ]
    for call, expected in calls:
        code, _, field = await refusal(call)
        assert (code, field) == (INVALID, expected)
    missing = await refusal(admin.CreateProject(project(unknown), metadata=OPERATOR))
    assert missing == (grpc.StatusCode.NOT_FOUND, "ORGANIZATION_NOT_FOUND", "project.organization_id")


async def test_only_operators_administer(admin: Admin, project_id: UUID) -> None:
    for metadata in (as_service(project_id), as_user(project_id, "ann")):
        for call in (
            admin.CreateOrganization(organization("o"), metadata=metadata),
            admin.CreateProject(project(str(uuid4())), metadata=metadata),
            admin.ListProjects(admin_pb.ListProjectsRequest(), metadata=metadata),
            admin.GetQueueStatus(admin_pb.GetQueueStatusRequest(), metadata=metadata),
        ):
            assert (await refusal(call))[:2] == (DENIED, "PERMISSION_DENIED")


def tenant_methods() -> list[tuple[str, type[Message], type[Message]]]:
    """Path, request and answer of every RPC but those that belong to no project."""
    found = []
    for name in ("memory", "session", "store", "project"):
        file = descriptor_pool.Default().FindFileByName(f"ricordo/v1/{name}_service.proto")
        for service in file.services_by_name.values():
            for method in service.methods:
                request = message_factory.GetMessageClass(method.input_type)
                answer = message_factory.GetMessageClass(method.output_type)
                found.append((f"/{service.full_name}/{method.name}", request, answer))
    return found


async def test_an_operator_reaches_no_project(channel: grpc.aio.Channel) -> None:
    methods = tenant_methods()
    assert len(methods) > 20
    for path, request, answer in methods:
        call = channel.unary_unary(
            path, request_serializer=request.SerializeToString, response_deserializer=answer.FromString
        )
        code, reason, _ = await refusal(call(request(), metadata=OPERATOR))
        assert (path, code, reason) == (path, DENIED, "PERMISSION_DENIED")


async def test_a_server_without_the_operator_s_url_has_no_administration(settings: Settings) -> None:
    without = settings.model_copy(update={"operator_url": ""})
    async with (
        open_services(without, pool_size=2) as services,
        serving(without, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        admin = admin_service_pb2_grpc.AdminServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await admin.ListProjects(admin_pb.ListProjectsRequest(), metadata=OPERATOR)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_project_and_its_store_are_made_together_or_not_at_all(
    admin: Admin, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure after the project's row leaves none behind."""
    from ricordo_server.db import stores as stores_db

    async def broken(*arguments: object) -> bool:
        raise RuntimeError("no store")

    organization_id = await new_organization(admin)
    monkeypatch.setattr(stores_db, "create_store", broken)
    code, _, _ = await refusal(admin.CreateProject(project(organization_id), metadata=OPERATOR))
    assert code is grpc.StatusCode.INTERNAL
    with psycopg.connect(database.superuser_url) as connection:
        query = "SELECT count(*) FROM ricordo.project WHERE organization_id = %s"
        assert connection.execute(query, [organization_id]).fetchone() == (0,)
