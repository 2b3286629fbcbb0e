"""Profiles and their schemas, to the wire and back."""

import json
from collections.abc import Iterable

from ricordo import models
from ricordo._convert import scopes, values
from ricordo._convert.sendable import sendable
from ricordo.v1 import memory_service_pb2, profile_pb2


@sendable
def retrieve_profiles_request(
    scope: models.Scope, *, store: str | None
) -> memory_service_pb2.RetrieveProfilesRequest:
    """Asks for the profiles of a scope."""
    return memory_service_pb2.RetrieveProfilesRequest(store_id=store or "", scope=scopes.encode_scope(scope))


def encode_schema(schema: models.ProfileSchema) -> profile_pb2.ProfileSchema:
    """Encodes a schema."""
    return profile_pb2.ProfileSchema(
        schema_id=schema.schema_id,
        json_schema=json.dumps(schema.json_schema, ensure_ascii=False),
        scope_keys=schema.scope_keys,
    )


def decode_schemas(schemas: Iterable[profile_pb2.ProfileSchema]) -> tuple[models.ProfileSchema, ...]:
    """Decodes schemas."""
    return tuple(
        models.ProfileSchema(
            schema_id=each.schema_id,
            json_schema=json.loads(each.json_schema),
            scope_keys=tuple(each.scope_keys),
        )
        for each in schemas
    )


def decode_profile(profile: profile_pb2.Profile) -> models.Profile:
    """Decodes a profile."""
    fields = {
        name: models.ProfileField(
            value=json.loads(field.json_value),
            memory_id=field.memory_id,
            revision=field.revision,
            update_time=values.decode_time(field.update_time),
        )
        for name, field in profile.fields.items()
    }
    return models.Profile(schema_id=profile.schema_id, fields=fields)
