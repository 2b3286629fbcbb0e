"""ContextService: one block of context for the next prompt."""

from typing import Any

from ricordo.v1 import context_service_pb2 as pb
from ricordo.v1 import context_service_pb2_grpc
from ricordo_server.app import context as context_app
from ricordo_server.app.services import Services
from ricordo_server.rpc.calls import read_call
from ricordo_server.rpc.convert.context import decode_request, encode_context
from ricordo_server.rpc.pages import omit_excess


class ContextService(context_service_pb2_grpc.ContextServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def BuildContext(self, request: pb.BuildContextRequest, context: Any) -> pb.BuildContextResponse:
        wanted = decode_request(request)
        built = await context_app.build_context(self._services, read_call(), request.store_id, wanted)
        answer = encode_context(built, request)
        items = [getattr(chunk, str(chunk.WhichOneof("item"))) for chunk in answer.chunks]
        omit_excess(items, used=answer.ByteSize() - sum(item.ByteSize() for item in items))
        return answer
