"""ContextService: one block of context for the next prompt."""

from typing import Any

from ricordo.v1 import context_service_pb2 as pb
from ricordo.v1 import context_service_pb2_grpc
from ricordo_server.app import context as context_app
from ricordo_server.app.services import Services
from ricordo_server.domain.errors import over_limit
from ricordo_server.domain.limits import MAX_CLIENT_BYTES
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
        omit_excess(answer, answer.chunks)
        check_deliverable(answer)
        return answer


def check_deliverable(answer: pb.BuildContextResponse) -> None:
    """Tokens are no bound of bytes: a run of spaces has a hundred in one."""
    if (size := answer.ByteSize()) > MAX_CLIENT_BYTES:
        raise over_limit("max_tokens", "bytes of answer", MAX_CLIENT_BYTES, size)
