"""Stores and grants."""

from ricordo import models
from ricordo.v1 import store_service_pb2 as stores
from ricordo.v1.store_pb2 import GRANTED_ACCESS_WRITE, StoreGrant
from tests.client._async.calls.case import Case, first
from tests.fixtures.client_samples import NOON_WIRE, wire_store

GRANT = StoreGrant(store_id="notes", principal_id="p2", access=GRANTED_ACCESS_WRITE, create_time=NOON_WIRE)

CASES: dict[str, Case] = {
    "CreateStore": Case(
        lambda client: client.stores.create("notes", description="Notes", language="german"),
        stores.CreateStoreResponse(store=wire_store()),
        lambda store: store.language == "german",
        {"store.store_id": "notes", "store.settings.language": "german"},
    ),
    "GetStore": Case(
        lambda client: client.stores.get("notes"),
        stores.GetStoreResponse(store=wire_store()),
        lambda store: store.store_id == "notes",
        {"store_id": "notes"},
    ),
    "ListStores": Case(
        lambda client: first(client.stores.list(order_by="create_time desc")),
        stores.ListStoresResponse(stores=[wire_store()]),
        lambda store: store.store_id == "notes",
        {},
    ),
    "UpdateStore": Case(
        lambda client: client.stores.update("notes", language=""),
        stores.UpdateStoreResponse(store=wire_store()),
        lambda store: store.store_id == "notes",
        {"store.store_id": "notes", "update_mask.paths": ["settings.language"]},
    ),
    "DeleteStore": Case(
        lambda client: client.stores.delete("notes", force=True),
        stores.DeleteStoreResponse(),
        lambda answer: answer is None,
        {"store_id": "notes", "force": True},
    ),
    "GrantAccess": Case(
        lambda client: client.stores.grant("notes", "p2", "write"),
        stores.GrantAccessResponse(grant=GRANT),
        lambda grant: (grant.principal_id, grant.access) == ("p2", models.GrantedAccess.WRITE),
        {"grant.store_id": "notes", "grant.principal_id": "p2", "grant.access": 2},
    ),
    "RevokeAccess": Case(
        lambda client: client.stores.revoke("notes", "p2"),
        stores.RevokeAccessResponse(),
        lambda answer: answer is None,
        {"store_id": "notes", "principal_id": "p2"},
    ),
    "ListGrants": Case(
        lambda client: first(client.stores.list_grants("notes", page_size=7)),
        stores.ListGrantsResponse(grants=[GRANT]),
        lambda grant: grant.store_id == "notes",
        {"store_id": "notes", "page_size": 7},
    ),
}
