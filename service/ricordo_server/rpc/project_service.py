"""ProjectService: the caller's own project."""

from typing import Any

from ricordo.v1 import project_service_pb2, project_service_pb2_grpc
from ricordo_server.app import projects
from ricordo_server.app.services import Services
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.convert.memory_queries import decode_expected
from ricordo_server.rpc.convert.projects import decode_settings_changes, encode_project

pb = project_service_pb2


class ProjectService(project_service_pb2_grpc.ProjectServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def GetProject(self, request: pb.GetProjectRequest, context: Any) -> pb.GetProjectResponse:
        project = await projects.get_project(self._services, read_call())
        return pb.GetProjectResponse(project=encode_project(project))

    async def UpdateProject(self, request: pb.UpdateProjectRequest, context: Any) -> pb.UpdateProjectResponse:
        changes = decode_settings_changes(request.project, request.update_mask.paths)
        return await answer_once(
            request,
            pb.UpdateProjectResponse,
            lambda project: pb.UpdateProjectResponse(project=encode_project(project)),
            lambda call: projects.update_project(
                self._services,
                call,
                changes,
                expected_revision=decode_expected(request),
                force=request.force,
            ),
        )
