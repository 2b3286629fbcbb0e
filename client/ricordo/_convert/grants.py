"""Grants of stores: requests and replies."""

from ricordo import models
from ricordo._convert import enums, paging, values
from ricordo._convert.sendable import sendable
from ricordo.v1 import store_pb2, store_service_pb2


@sendable
def grant_access_request(
    store_id: str, principal_id: str, access: models.GrantedAccess | str, *, request_id: str | None
) -> store_service_pb2.GrantAccessRequest:
    """Asks to let a principal use a store."""
    grant = store_pb2.StoreGrant(
        store_id=store_id, principal_id=principal_id, access=enums.GRANTED_ACCESS.encode(access)
    )
    return store_service_pb2.GrantAccessRequest(grant=grant, request_id=paging.fresh(request_id))


@sendable
def revoke_access_request(
    store_id: str, principal_id: str, *, request_id: str | None
) -> store_service_pb2.RevokeAccessRequest:
    """Asks to take a grant back."""
    return store_service_pb2.RevokeAccessRequest(
        store_id=store_id, principal_id=principal_id, request_id=paging.fresh(request_id)
    )


@sendable
def list_grants_request(store_id: str, *, page_size: int | None) -> store_service_pb2.ListGrantsRequest:
    """Asks for a page of grants."""
    return store_service_pb2.ListGrantsRequest(store_id=store_id, page_size=page_size)


def decode_grant(grant: store_pb2.StoreGrant) -> models.StoreGrant:
    """Decodes a grant."""
    return models.StoreGrant(
        store_id=grant.store_id,
        principal_id=grant.principal_id,
        access=enums.GRANTED_ACCESS.decode(grant.access),
        create_time=values.decode_time(grant.create_time),
    )
