"""AdminService: the installation, for operators."""

from typing import Any

from ricordo.v1 import admin_service_pb2, admin_service_pb2_grpc
from ricordo_server.app import audit, erasure, project_limits, projects, queue
from ricordo_server.db.connection import Pool
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.checks import check_uuid
from ricordo_server.rpc.convert.audit import encode_receipt, encode_record
from ricordo_server.rpc.convert.project_limits import decode_limit_changes, encode_limits, encode_usage
from ricordo_server.rpc.convert.projects import (
    decode_display_name,
    decode_project,
    encode_organization,
    encode_project,
)
from ricordo_server.rpc.convert.queue import encode_queue_status
from ricordo_server.rpc.pages import decode_page, encode_page

pb = admin_service_pb2


class AdminService(admin_service_pb2_grpc.AdminServiceServicer):
    """`pool` is the operator's: a server without one has no AdminService."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def CreateOrganization(
        self, request: pb.CreateOrganizationRequest, context: Any
    ) -> pb.CreateOrganizationResponse:
        display_name = decode_display_name(request.organization.display_name, "organization.display_name")
        return await answer_once(
            request,
            pb.CreateOrganizationResponse,
            lambda made: pb.CreateOrganizationResponse(organization=encode_organization(made)),
            lambda call: projects.create_organization(self._pool, call, display_name),
        )

    async def CreateProject(self, request: pb.CreateProjectRequest, context: Any) -> pb.CreateProjectResponse:
        draft = decode_project(request.project)
        return await answer_once(
            request,
            pb.CreateProjectResponse,
            lambda project: pb.CreateProjectResponse(project=encode_project(project)),
            lambda call: projects.create_project(self._pool, call, draft),
        )

    async def GetProjectLimits(
        self, request: pb.GetProjectLimitsRequest, context: Any
    ) -> pb.GetProjectLimitsResponse:
        project_id = check_uuid("project_id", request.project_id)
        limits, usage = await project_limits.get_limits(self._pool, read_call(), project_id)
        return pb.GetProjectLimitsResponse(limits=encode_limits(limits), usage=encode_usage(usage))

    async def UpdateProjectLimits(
        self, request: pb.UpdateProjectLimitsRequest, context: Any
    ) -> pb.UpdateProjectLimitsResponse:
        project_id = check_uuid("project_id", request.project_id)
        changes = decode_limit_changes(request.limits, request.update_mask.paths)
        return await answer_once(
            request,
            pb.UpdateProjectLimitsResponse,
            lambda limits: pb.UpdateProjectLimitsResponse(limits=encode_limits(limits)),
            lambda call: project_limits.update_limits(self._pool, call, project_id, changes),
        )

    async def ListProjects(self, request: pb.ListProjectsRequest, context: Any) -> pb.ListProjectsResponse:
        call = read_call()
        given = request.organization_id
        organization_id = check_uuid("organization_id", given) if given else None
        page = decode_page(request, call.principal)
        found = await projects.list_projects(self._pool, call, organization_id, page)
        messages, token = await encode_page(request, call.principal, found, encode_project)
        return pb.ListProjectsResponse(projects=messages, next_page_token=token)

    async def ListOperatorRecords(
        self, request: pb.ListOperatorRecordsRequest, context: Any
    ) -> pb.ListOperatorRecordsResponse:
        call = read_call()
        project_id = check_uuid("project_id", request.project_id) if request.project_id else None
        page = decode_page(request, call.principal)
        found = await audit.list_operator_records(self._pool, call, project_id, page)
        messages, token = await encode_page(request, call.principal, found, encode_record)
        return pb.ListOperatorRecordsResponse(records=messages, next_page_token=token)

    async def GetQueueStatus(
        self, request: pb.GetQueueStatusRequest, context: Any
    ) -> pb.GetQueueStatusResponse:
        project_id = check_uuid("project_id", request.project_id) if request.project_id else None
        return encode_queue_status(await queue.get_queue_status(self._pool, read_call(), project_id))

    async def DeleteProject(self, request: pb.DeleteProjectRequest, context: Any) -> pb.DeleteProjectResponse:
        project_id = check_uuid("project_id", request.project_id)
        return await answer_once(
            request,
            pb.DeleteProjectResponse,
            lambda receipt: pb.DeleteProjectResponse(receipt=encode_receipt(receipt)),
            lambda call: erasure.delete_project(self._pool, call, project_id, force=request.force),
        )
