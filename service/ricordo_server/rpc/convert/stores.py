"""Stores."""

from collections.abc import Sequence

from ricordo.v1 import store_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import MAX_DESCRIPTION_BYTES
from ricordo_server.domain.store import (
    STORE_ID,
    Grant,
    GrantDraft,
    GrantedAccess,
    Store,
    StoreAccess,
    StoreChanges,
    StoreDraft,
)
from ricordo_server.rpc.checks import check_pattern, check_text
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.store_settings import (
    MASKED,
    SETTINGS,
    decode_store_settings,
    encode_store_settings,
)
from ricordo_server.rpc.convert.times import encode_time

FIELDS = ("display_name", "description", "access")
ACCEPTED_PATHS = (*FIELDS, "settings", *(f"settings.{name}" for name in MASKED))
ACCESS, GRANTED = store_pb2.StoreAccess.DESCRIPTOR, store_pb2.GrantedAccess.DESCRIPTOR


def decode_store_id(value: str, field: str = "store_id") -> str:
    return check_pattern(field, value, STORE_ID)


def decode_store(message: store_pb2.Store, field: str = "store") -> StoreDraft:
    """What a caller may say; output fields are ignored."""
    return StoreDraft(
        store_id=decode_store_id(message.store_id, f"{field}.store_id"),
        display_name=check_text(f"{field}.display_name", message.display_name),
        description=check_text(f"{field}.description", message.description, limit=MAX_DESCRIPTION_BYTES),
        settings=decode_store_settings(message.settings, f"{field}.settings"),
        access=decode_enum(message.access, ACCESS, StoreAccess, f"{field}.access") or StoreAccess.OPEN,
    )


def decode_store_changes(
    message: store_pb2.Store, paths: Sequence[str], field: str = "store"
) -> StoreChanges:
    """The new values of the masked fields.

    Raises:
        DomainError: INVALID_FIELD naming the accepted paths.
    """
    unknown = [path for path in paths if path not in ACCEPTED_PATHS]
    if unknown or not paths:
        fault = f"{unknown[0]!r} cannot be changed" if unknown else "update_mask is required"
        raise invalid_field("update_mask", f"{fault}; accepted: {', '.join(ACCEPTED_PATHS)}")
    draft = decode_store(message, field)
    named = {path.partition(".")[2] for path in paths} - {""}
    settings = SETTINGS if "settings" in paths else {MASKED[name] for name in named}
    return StoreChanges(
        {name: getattr(draft, name) for name in FIELDS if name in paths},
        {name: getattr(draft.settings, name) for name in settings},
    )


def encode_store(store: Store) -> store_pb2.Store:
    return store_pb2.Store(
        store_id=store.store_id,
        display_name=store.display_name,
        description=store.description,
        settings=encode_store_settings(store.settings),
        creator_id=store.creator_id,
        access=encode_enum(store.access, ACCESS),
        create_time=encode_time(store.create_time),
        update_time=encode_time(store.update_time),
    )


def decode_principal_id(value: str, field: str) -> str:
    return check_text(field, value, required=True)


def decode_grant(message: store_pb2.StoreGrant, field: str = "grant") -> GrantDraft:
    access = decode_enum(message.access, GRANTED, GrantedAccess, f"{field}.access")
    if access is None:
        accepted = ", ".join(GrantedAccess)
        raise invalid_field(f"{field}.access", f"access is required; accepted: {accepted}")
    return GrantDraft(
        store_id=decode_store_id(message.store_id, f"{field}.store_id"),
        principal_id=decode_principal_id(message.principal_id, f"{field}.principal_id"),
        access=access,
    )


def encode_grant(grant: Grant) -> store_pb2.StoreGrant:
    return store_pb2.StoreGrant(
        store_id=grant.store_id,
        principal_id=grant.principal_id,
        access=encode_enum(grant.access, GRANTED),
        create_time=encode_time(grant.create_time),
    )
