"""ExtractionService: from what was said to memories."""

from typing import Any

from ricordo.v1 import extraction_service_pb2, extraction_service_pb2_grpc
from ricordo_server.app import extraction_failures, generation, held_memories, promotion
from ricordo_server.app.services import Services
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.generation import GenerationOrder
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.checks import TURN_ID, check_pattern
from ricordo_server.rpc.convert.generation import (
    decode_order,
    decode_rules,
    encode_approval,
    encode_generation,
    encode_held_memory,
    keep_request,
)
from ricordo_server.rpc.convert.memories import decode_kind
from ricordo_server.rpc.convert.operations import encode_operation
from ricordo_server.rpc.convert.scope import decode_scope_filter
from ricordo_server.rpc.convert.sessions import decode_session_scope
from ricordo_server.rpc.convert.snapshots import encode_failure, encode_snapshot, encode_status
from ricordo_server.rpc.pages import decode_page, encode_page

pb = extraction_service_pb2


class ExtractionService(extraction_service_pb2_grpc.ExtractionServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def GenerateMemories(
        self, request: pb.GenerateMemoriesRequest, context: Any
    ) -> pb.GenerateMemoriesResponse:
        order, rules = decode_order(request), decode_rules(request)
        if request.in_background:
            return await self._start_generation(request, order)
        return await answer_once(
            request,
            pb.GenerateMemoriesResponse,
            encode_generation,
            lambda call: generation.generate_memories(
                self._services, call, request.store_id, order, rules, dry_run=request.dry_run
            ),
        )

    async def _start_generation(
        self, request: pb.GenerateMemoriesRequest, order: GenerationOrder
    ) -> pb.GenerateMemoriesResponse:
        if request.dry_run:
            raise invalid_field("in_background", "a dry run leaves nothing to ask about: wait for it")
        kept = keep_request(request)
        return await answer_once(
            request,
            pb.GenerateMemoriesResponse,
            lambda started: pb.GenerateMemoriesResponse(operation=encode_operation(started)),
            lambda call: generation.start_generation(self._services, call, request.store_id, order, kept),
        )

    async def PromoteSession(
        self, request: pb.PromoteSessionRequest, context: Any
    ) -> pb.PromoteSessionResponse:
        scope = decode_session_scope(request.scope)
        return await answer_once(
            request,
            pb.PromoteSessionResponse,
            lambda snapshot_ids: pb.PromoteSessionResponse(snapshot_ids=snapshot_ids),
            lambda call: promotion.promote_session(self._services, call, request.store_id, scope),
        )

    async def ListSnapshots(self, request: pb.ListSnapshotsRequest, context: Any) -> pb.ListSnapshotsResponse:
        call = read_call()
        scope, page = decode_scope_filter(request.scope), decode_page(request, call.principal)
        found = await promotion.list_snapshots(self._services, call, request.store_id, scope, page)
        messages, token = await encode_page(request, call.principal, found, encode_snapshot)
        return pb.ListSnapshotsResponse(snapshots=messages, next_page_token=token)

    async def GetExtractionStatus(
        self, request: pb.GetExtractionStatusRequest, context: Any
    ) -> pb.GetExtractionStatusResponse:
        scope = decode_session_scope(request.scope)
        return encode_status(
            await promotion.get_extraction_status(self._services, read_call(), request.store_id, scope)
        )

    async def ListFailures(self, request: pb.ListFailuresRequest, context: Any) -> pb.ListFailuresResponse:
        call = read_call()
        scope, page = decode_scope_filter(request.scope), decode_page(request, call.principal)
        found = await extraction_failures.list_failures(self._services, call, request.store_id, scope, page)
        messages, token = await encode_page(request, call.principal, found, encode_failure)
        return pb.ListFailuresResponse(failures=messages, next_page_token=token)

    async def RetryFailure(self, request: pb.RetryFailureRequest, context: Any) -> pb.RetryFailureResponse:
        snapshot_id = check_pattern("snapshot_id", request.snapshot_id, TURN_ID)
        kind = decode_kind(request.kind, "kind")
        if kind is None:
            raise invalid_field("kind", "say which kind is to be extracted again")
        return await answer_once(
            request,
            pb.RetryFailureResponse,
            lambda nothing: pb.RetryFailureResponse(),
            lambda call: extraction_failures.retry_failure(
                self._services, call, request.store_id, snapshot_id, kind
            ),
        )

    async def ListHeldMemories(
        self, request: pb.ListHeldMemoriesRequest, context: Any
    ) -> pb.ListHeldMemoriesResponse:
        call = read_call()
        scope, page = decode_scope_filter(request.scope), decode_page(request, call.principal)
        found = await held_memories.list_held_memories(self._services, call, request.store_id, scope, page)
        messages, token = await encode_page(request, call.principal, found, encode_held_memory)
        return pb.ListHeldMemoriesResponse(held_memories=messages, next_page_token=token)

    async def ApproveMemory(self, request: pb.ApproveMemoryRequest, context: Any) -> pb.ApproveMemoryResponse:
        held_memory_id = check_pattern("held_memory_id", request.held_memory_id, TURN_ID)
        return await answer_once(
            request,
            pb.ApproveMemoryResponse,
            encode_approval,
            lambda call: held_memories.approve_memory(self._services, call, request.store_id, held_memory_id),
        )

    async def RejectMemory(self, request: pb.RejectMemoryRequest, context: Any) -> pb.RejectMemoryResponse:
        held_memory_id = check_pattern("held_memory_id", request.held_memory_id, TURN_ID)
        return await answer_once(
            request,
            pb.RejectMemoryResponse,
            lambda nothing: pb.RejectMemoryResponse(),
            lambda call: held_memories.reject_memory(self._services, call, request.store_id, held_memory_id),
        )
