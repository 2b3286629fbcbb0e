"""StoreService: the containers of a project."""

from typing import Any

from ricordo.v1 import store_service_pb2, store_service_pb2_grpc
from ricordo_server.app import stores
from ricordo_server.app.services import Services
from ricordo_server.domain.store import DEFAULT_STORE
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.convert.stores import (
    decode_grant,
    decode_principal_id,
    decode_store,
    decode_store_changes,
    decode_store_id,
    encode_grant,
    encode_store,
)
from ricordo_server.rpc.pages import decode_order, decode_page, encode_page

pb = store_service_pb2


class StoreService(store_service_pb2_grpc.StoreServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def CreateStore(self, request: pb.CreateStoreRequest, context: Any) -> pb.CreateStoreResponse:
        draft = decode_store(request.store)
        return await answer_once(
            request,
            pb.CreateStoreResponse,
            lambda store: pb.CreateStoreResponse(store=encode_store(store)),
            lambda call: stores.create_store(self._services, call, draft),
        )

    async def GetStore(self, request: pb.GetStoreRequest, context: Any) -> pb.GetStoreResponse:
        store_id = decode_store_id(request.store_id or DEFAULT_STORE)
        return pb.GetStoreResponse(
            store=encode_store(await stores.get_store(self._services, read_call(), store_id))
        )

    async def ListStores(self, request: pb.ListStoresRequest, context: Any) -> pb.ListStoresResponse:
        call = read_call()
        page = decode_page(request, call.principal)
        found = await stores.list_stores(self._services, call, decode_order(request), page)
        messages, token = await encode_page(request, call.principal, found, encode_store)
        return pb.ListStoresResponse(stores=messages, next_page_token=token)

    async def UpdateStore(self, request: pb.UpdateStoreRequest, context: Any) -> pb.UpdateStoreResponse:
        changes = decode_store_changes(request.store, request.update_mask.paths)
        return await answer_once(
            request,
            pb.UpdateStoreResponse,
            lambda store: pb.UpdateStoreResponse(store=encode_store(store)),
            lambda call: stores.update_store(self._services, call, request.store.store_id, changes),
        )

    async def DeleteStore(self, request: pb.DeleteStoreRequest, context: Any) -> pb.DeleteStoreResponse:
        store_id = decode_store_id(request.store_id)
        return await answer_once(
            request,
            pb.DeleteStoreResponse,
            lambda nothing: pb.DeleteStoreResponse(),
            lambda call: stores.delete_store(self._services, call, store_id, force=request.force),
        )

    async def GrantAccess(self, request: pb.GrantAccessRequest, context: Any) -> pb.GrantAccessResponse:
        draft = decode_grant(request.grant)
        return await answer_once(
            request,
            pb.GrantAccessResponse,
            lambda grant: pb.GrantAccessResponse(grant=encode_grant(grant)),
            lambda call: stores.grant_access(self._services, call, draft),
        )

    async def RevokeAccess(self, request: pb.RevokeAccessRequest, context: Any) -> pb.RevokeAccessResponse:
        store_id = decode_store_id(request.store_id)
        principal_id = decode_principal_id(request.principal_id, "principal_id")
        return await answer_once(
            request,
            pb.RevokeAccessResponse,
            lambda nothing: pb.RevokeAccessResponse(),
            lambda call: stores.revoke_access(self._services, call, store_id, principal_id),
        )

    async def ListGrants(self, request: pb.ListGrantsRequest, context: Any) -> pb.ListGrantsResponse:
        call = read_call()
        store_id = decode_store_id(request.store_id or DEFAULT_STORE)
        page = decode_page(request, call.principal)
        found = await stores.list_grants(self._services, call, store_id, page)
        messages, token = await encode_page(request, call.principal, found, encode_grant)
        return pb.ListGrantsResponse(grants=messages, next_page_token=token)
