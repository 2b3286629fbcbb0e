"""OperationService: work in the background that can be asked about, waited for and stopped."""

from functools import partial
from typing import Any

from ricordo.v1 import operation_service_pb2, operation_service_pb2_grpc
from ricordo_server.app import operations
from ricordo_server.app.services import Services
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.checks import OPERATION_ID, check_pattern
from ricordo_server.rpc.convert.operations import encode_answer, encode_operation
from ricordo_server.rpc.convert.scope import decode_scope_filter
from ricordo_server.rpc.pages import decode_page, encode_page

pb = operation_service_pb2


class OperationService(operation_service_pb2_grpc.OperationServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def GetOperation(self, request: pb.GetOperationRequest, context: Any) -> pb.GetOperationResponse:
        operation_id = check_pattern("operation_id", request.operation_id, OPERATION_ID)
        call = read_call()
        found = await operations.get_operation(self._services, call, request.store_id, operation_id)
        return encode_answer(pb.GetOperationResponse, found)

    async def WaitOperation(self, request: pb.WaitOperationRequest, context: Any) -> pb.WaitOperationResponse:
        operation_id = check_pattern("operation_id", request.operation_id, OPERATION_ID)
        call = read_call()
        found = await operations.wait_operation(self._services, call, request.store_id, operation_id)
        return encode_answer(pb.WaitOperationResponse, found)

    async def ListOperations(
        self, request: pb.ListOperationsRequest, context: Any
    ) -> pb.ListOperationsResponse:
        call = read_call()
        scope, page = decode_scope_filter(request.scope), decode_page(request, call.principal)
        found = await operations.list_operations(self._services, call, request.store_id, scope, page)
        messages, token = await encode_page(request, call.principal, found, encode_operation)
        return pb.ListOperationsResponse(operations=messages, next_page_token=token)

    async def CancelOperation(
        self, request: pb.CancelOperationRequest, context: Any
    ) -> pb.CancelOperationResponse:
        operation_id = check_pattern("operation_id", request.operation_id, OPERATION_ID)
        return await answer_once(
            request,
            pb.CancelOperationResponse,
            partial(encode_answer, pb.CancelOperationResponse),
            lambda call: operations.cancel_operation(self._services, call, request.store_id, operation_id),
        )
