"""What a store has of its own."""

from collections.abc import Sequence
from dataclasses import fields

from ricordo.v1 import store_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import MAX_SCOPE_PAIRS, MAX_SCOPED_POLICIES
from ricordo_server.domain.profile_schema import ProfileSchema
from ricordo_server.domain.store_settings import ScopedExtraction, StoreSettings
from ricordo_server.rpc.checks import check_count, check_texts
from ricordo_server.rpc.convert.extraction_policy import decode_policy_changes, encode_policy_changes
from ricordo_server.rpc.convert.languages import decode_language
from ricordo_server.rpc.convert.profiles import decode_profile_schemas, encode_profile_schemas
from ricordo_server.rpc.convert.retention import decode_retention, encode_retention

# The fields of the settings, which are those of the domain.
SETTINGS = tuple(field.name for field in fields(StoreSettings))
# What an update's mask may name, and the fields that these are.
MASKED = {**{name: name for name in SETTINGS}, "without_profile_schemas": "profile_schemas"}


def decode_store_settings(message: store_pb2.StoreSettings, field: str) -> StoreSettings:
    return StoreSettings(
        language=decode_language(message, f"{field}.language"),
        extraction=decode_policy_changes(message.extraction, f"{field}.extraction"),
        scoped_extraction=_decode_scoped(message.scoped_extraction, f"{field}.scoped_extraction"),
        retention=decode_retention(message.retention, f"{field}.retention"),
        profile_schemas=_decode_schemas(message, field),
    )


def _decode_schemas(message: store_pb2.StoreSettings, field: str) -> tuple[ProfileSchema, ...] | None:
    """None: the project's."""
    schemas = decode_profile_schemas(message.profile_schemas, f"{field}.profile_schemas")
    if schemas and message.without_profile_schemas:
        raise invalid_field(f"{field}.without_profile_schemas", "profile_schemas are given: choose one")
    return schemas if schemas or message.without_profile_schemas else None


def _decode_scoped(
    messages: Sequence[store_pb2.ScopedExtraction], field: str
) -> tuple[ScopedExtraction, ...]:
    check_count(field, len(messages), MAX_SCOPED_POLICIES)
    scoped = [_decode_one(message, f"{field}[{number}]") for number, message in enumerate(messages)]
    known: set[frozenset[str]] = set()
    for number, each in enumerate(scoped):
        keys = frozenset(each.scope_keys)
        if keys in known:
            raise invalid_field(
                f"{field}[{number}].scope_keys", "another one is for the same keys: make them one"
            )
        known.add(keys)
    return tuple(scoped)


def _decode_one(message: store_pb2.ScopedExtraction, field: str) -> ScopedExtraction:
    keys = check_texts(f"{field}.scope_keys", message.scope_keys, most=MAX_SCOPE_PAIRS)
    if not keys:
        raise invalid_field(
            f"{field}.scope_keys", "name the keys of the scopes; for all of them use `extraction`"
        )
    return ScopedExtraction(tuple(keys), decode_policy_changes(message.extraction, f"{field}.extraction"))


def encode_store_settings(settings: StoreSettings) -> store_pb2.StoreSettings:
    return store_pb2.StoreSettings(
        language=settings.language,
        extraction=encode_policy_changes(settings.extraction) if settings.extraction else None,
        scoped_extraction=[
            store_pb2.ScopedExtraction(
                scope_keys=each.scope_keys, extraction=encode_policy_changes(each.extraction)
            )
            for each in settings.scoped_extraction
        ],
        retention=encode_retention(settings.retention),
        profile_schemas=encode_profile_schemas(settings.profile_schemas or ()),
        without_profile_schemas=settings.profile_schemas == (),
    )
