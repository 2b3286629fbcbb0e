"""ExtractionService: from what was said to memories."""

from typing import Any

from ricordo.v1 import extraction_service_pb2, extraction_service_pb2_grpc
from ricordo_server.app import generation
from ricordo_server.app.services import Services
from ricordo_server.rpc.calls import answer_once
from ricordo_server.rpc.convert.generation import decode_order, decode_rules, encode_generation

pb = extraction_service_pb2


class ExtractionService(extraction_service_pb2_grpc.ExtractionServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def GenerateMemories(
        self, request: pb.GenerateMemoriesRequest, context: Any
    ) -> pb.GenerateMemoriesResponse:
        order, rules = decode_order(request), decode_rules(request)
        return await answer_once(
            request,
            pb.GenerateMemoriesResponse,
            encode_generation,
            lambda call: generation.generate_memories(
                self._services, call, request.store_id, order, rules, dry_run=request.dry_run
            ),
        )
