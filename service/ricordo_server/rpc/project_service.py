"""ProjectService: the caller's own project."""

from typing import Any

from ricordo.v1 import project_service_pb2, project_service_pb2_grpc
from ricordo_server.app import audit, embedding_models, projects
from ricordo_server.app.services import Services
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.convert.audit import encode_record
from ricordo_server.rpc.convert.embedding_models import decode_model_name, encode_model_status
from ricordo_server.rpc.convert.memory_queries import decode_expected
from ricordo_server.rpc.convert.projects import decode_settings_changes, encode_project
from ricordo_server.rpc.pages import decode_page, encode_page

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

    async def ListEmbeddingModels(
        self, request: pb.ListEmbeddingModelsRequest, context: Any
    ) -> pb.ListEmbeddingModelsResponse:
        found = await embedding_models.list_embedding_models(self._services, read_call())
        return pb.ListEmbeddingModelsResponse(embedding_models=map(encode_model_status, found))

    async def RegisterEmbeddingModel(
        self, request: pb.RegisterEmbeddingModelRequest, context: Any
    ) -> pb.RegisterEmbeddingModelResponse:
        name = decode_model_name(request.name)
        return await answer_once(
            request,
            pb.RegisterEmbeddingModelResponse,
            lambda status: pb.RegisterEmbeddingModelResponse(embedding_model=encode_model_status(status)),
            lambda call: embedding_models.register_embedding_model(self._services, call, name),
        )

    async def SwitchEmbeddingModel(
        self, request: pb.SwitchEmbeddingModelRequest, context: Any
    ) -> pb.SwitchEmbeddingModelResponse:
        name = decode_model_name(request.name)
        return await answer_once(
            request,
            pb.SwitchEmbeddingModelResponse,
            lambda status: pb.SwitchEmbeddingModelResponse(embedding_model=encode_model_status(status)),
            lambda call: embedding_models.switch_embedding_model(
                self._services, call, name, force=request.force
            ),
        )

    async def DropEmbeddingModel(
        self, request: pb.DropEmbeddingModelRequest, context: Any
    ) -> pb.DropEmbeddingModelResponse:
        name = decode_model_name(request.name)
        return await answer_once(
            request,
            pb.DropEmbeddingModelResponse,
            lambda status: pb.DropEmbeddingModelResponse(embedding_model=encode_model_status(status)),
            lambda call: embedding_models.drop_embedding_model(self._services, call, name),
        )

    async def ListAuditRecords(
        self, request: pb.ListAuditRecordsRequest, context: Any
    ) -> pb.ListAuditRecordsResponse:
        call = read_call()
        page = decode_page(request, call.principal)
        found = await audit.list_audit_records(self._services, call, page)
        messages, token = await encode_page(request, call.principal, found, encode_record)
        return pb.ListAuditRecordsResponse(records=messages, next_page_token=token)
