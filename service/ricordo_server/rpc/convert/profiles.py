"""Schemas of profiles, and what is known by them."""

import json
from collections.abc import Sequence

from ricordo.v1 import profile_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import MAX_PROFILE_SCHEMAS, MAX_SCHEMA_BYTES, MAX_SCOPE_PAIRS
from ricordo_server.domain.profile_schema import (
    Profile,
    ProfileField,
    ProfileSchema,
    ProfileSchemaError,
    check_schema,
)
from ricordo_server.rpc.checks import SCHEMA_ID, check_count, check_pattern, check_text, check_texts
from ricordo_server.rpc.convert.times import encode_time


def decode_profile_schemas(
    messages: Sequence[profile_pb2.ProfileSchema], field: str
) -> tuple[ProfileSchema, ...]:
    check_count(field, len(messages), MAX_PROFILE_SCHEMAS)
    schemas = tuple(_decode_schema(message, f"{field}[{number}]") for number, message in enumerate(messages))
    names = [schema.schema_id for schema in schemas]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise invalid_field(f"{field}[{number}].schema_id", f"another schema has the id {name!r}")
    return schemas


def _decode_schema(message: profile_pb2.ProfileSchema, field: str) -> ProfileSchema:
    place = f"{field}.json_schema"
    text = check_text(place, message.json_schema, limit=MAX_SCHEMA_BYTES, required=True)
    try:
        check_schema(text)
    except ProfileSchemaError as fault:
        raise invalid_field(place, str(fault)) from fault
    keys = check_texts(f"{field}.scope_keys", message.scope_keys, most=MAX_SCOPE_PAIRS)
    return ProfileSchema(check_pattern(f"{field}.schema_id", message.schema_id, SCHEMA_ID), text, tuple(keys))


def encode_profile_schemas(schemas: Sequence[ProfileSchema]) -> list[profile_pb2.ProfileSchema]:
    return [
        profile_pb2.ProfileSchema(
            schema_id=schema.schema_id, json_schema=schema.json_schema, scope_keys=schema.scope_keys
        )
        for schema in schemas
    ]


def encode_profile(profile: Profile) -> profile_pb2.Profile:
    fields = {name: _encode_field(field) for name, field in profile.fields.items()}
    return profile_pb2.Profile(schema_id=profile.schema.schema_id, fields=fields)


def _encode_field(field: ProfileField) -> profile_pb2.ProfileField:
    return profile_pb2.ProfileField(
        json_value=json.dumps(field.value),
        memory_id=field.memory_id,
        revision=field.revision,
        update_time=encode_time(field.update_time),
    )
