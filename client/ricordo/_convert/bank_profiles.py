"""Structured profiles of a bank: schemas as it is told them, and as we keep them."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from pydantic.alias_generators import to_camel

from ricordo import memory_bank as types
from ricordo import models


def encode_schemas(configs: Iterable[types.StructuredMemoryConfig]) -> tuple[models.ProfileSchema, ...]:
    """The schemas, each with its scope keys."""
    return tuple(
        models.ProfileSchema(
            schema_id=each.id,
            json_schema=each.json_schema or _from_openapi(each.memory_schema or {}),
            scope_keys=tuple(config.scope_keys),
        )
        for config in configs
        for each in config.schema_configs
    )


def _from_openapi(schema: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAPI writes types in capitals, and may say in which order the properties come."""
    return {
        name: _converted(name, value)
        for name, value in ((to_camel(name), value) for name, value in schema.items())
        if name != "propertyOrdering"
    }


def _converted(name: str, value: Any) -> Any:
    match name, value:
        case "type", str():
            return value.lower()
        case "properties", Mapping():
            return {field: _from_openapi(each) for field, each in value.items()}
        case "items", Mapping():
            return _from_openapi(value)
    return value


def decode_schemas(schemas: Iterable[models.ProfileSchema]) -> list[types.StructuredMemoryConfig]:
    """The schemas, those of the same keys together."""
    return [
        types.StructuredMemoryConfig(
            scope_keys=list(keys),
            schema_configs=[
                types.StructuredMemorySchemaConfig(id=each.schema_id, json_schema=dict(each.json_schema))
                for each in group
            ],
        )
        for keys, group in groupby(schemas, key=lambda each: each.scope_keys)
    ]


def decode_profiles(profiles: Iterable[models.Profile]) -> types.RetrieveProfilesResponse:
    """What is known, by schema; a schema of which nothing is known is not there."""
    known = (each for each in profiles if each.fields)
    return types.RetrieveProfilesResponse(
        profiles={
            each.schema_id: types.MemoryProfile(schema_id=each.schema_id, profile=each.profile)
            for each in known
        }
    )
