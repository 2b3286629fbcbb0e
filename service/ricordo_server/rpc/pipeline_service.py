"""PipelineService: sessions become documents in the background."""

from typing import Any

from ricordo.v1 import pipeline_service_pb2, pipeline_service_pb2_grpc
from ricordo_server.app import pipelines
from ricordo_server.app.services import Services
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.convert.pipelines import (
    decode_pipeline,
    decode_pipeline_changes,
    decode_pipeline_id,
    decode_run_id,
    encode_pipeline,
    encode_run,
)
from ricordo_server.rpc.pages import decode_page, encode_page

pb = pipeline_service_pb2


class PipelineService(pipeline_service_pb2_grpc.PipelineServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def CreatePipeline(
        self, request: pb.CreatePipelineRequest, context: Any
    ) -> pb.CreatePipelineResponse:
        draft = decode_pipeline(request.pipeline)
        return await answer_once(
            request,
            pb.CreatePipelineResponse,
            lambda pipeline: pb.CreatePipelineResponse(pipeline=encode_pipeline(pipeline)),
            lambda call: pipelines.create_pipeline(self._services, call, request.store_id, draft),
        )

    async def GetPipeline(self, request: pb.GetPipelineRequest, context: Any) -> pb.GetPipelineResponse:
        pipeline_id = decode_pipeline_id(request.pipeline_id)
        pipeline = await pipelines.get_pipeline(self._services, read_call(), request.store_id, pipeline_id)
        return pb.GetPipelineResponse(pipeline=encode_pipeline(pipeline))

    async def ListPipelines(self, request: pb.ListPipelinesRequest, context: Any) -> pb.ListPipelinesResponse:
        call = read_call()
        page = decode_page(request, call.principal)
        found = await pipelines.list_pipelines(self._services, call, request.store_id, page)
        messages, token = await encode_page(request, call.principal, found, encode_pipeline)
        return pb.ListPipelinesResponse(pipelines=messages, next_page_token=token)

    async def UpdatePipeline(
        self, request: pb.UpdatePipelineRequest, context: Any
    ) -> pb.UpdatePipelineResponse:
        pipeline_id = decode_pipeline_id(request.pipeline.pipeline_id, "pipeline.pipeline_id")
        changes = decode_pipeline_changes(request.pipeline, request.update_mask.paths)
        return await answer_once(
            request,
            pb.UpdatePipelineResponse,
            lambda pipeline: pb.UpdatePipelineResponse(pipeline=encode_pipeline(pipeline)),
            lambda call: pipelines.update_pipeline(
                self._services, call, request.store_id, pipeline_id, changes
            ),
        )

    async def DeletePipeline(
        self, request: pb.DeletePipelineRequest, context: Any
    ) -> pb.DeletePipelineResponse:
        pipeline_id = decode_pipeline_id(request.pipeline_id)
        return await answer_once(
            request,
            pb.DeletePipelineResponse,
            lambda nothing: pb.DeletePipelineResponse(),
            lambda call: pipelines.delete_pipeline(self._services, call, request.store_id, pipeline_id),
        )

    async def RunPipeline(self, request: pb.RunPipelineRequest, context: Any) -> pb.RunPipelineResponse:
        pipeline_id = decode_pipeline_id(request.pipeline_id)
        return await answer_once(
            request,
            pb.RunPipelineResponse,
            lambda run: pb.RunPipelineResponse(run=encode_run(run)),
            lambda call: pipelines.start_run(self._services, call, request.store_id, pipeline_id),
        )

    async def ListPipelineRuns(
        self, request: pb.ListPipelineRunsRequest, context: Any
    ) -> pb.ListPipelineRunsResponse:
        call = read_call()
        pipeline_id, page = decode_pipeline_id(request.pipeline_id), decode_page(request, call.principal)
        found = await pipelines.list_runs(self._services, call, request.store_id, pipeline_id, page)
        messages, token = await encode_page(request, call.principal, found, encode_run)
        return pb.ListPipelineRunsResponse(runs=messages, next_page_token=token)

    async def GetPipelineRun(
        self, request: pb.GetPipelineRunRequest, context: Any
    ) -> pb.GetPipelineRunResponse:
        run_id = decode_run_id(request.run_id)
        run = await pipelines.get_run(self._services, read_call(), request.store_id, run_id)
        return pb.GetPipelineRunResponse(run=encode_run(run))
