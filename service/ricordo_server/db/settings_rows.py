"""Settings of projects and stores to their column and back. The language has a column of its own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any

from psycopg.types.json import Jsonb

from ricordo_server.domain.consolidation import Trust
from ricordo_server.domain.context import ContextFormat
from ricordo_server.domain.extraction import Example, ExampleMemory, Person, Topic
from ricordo_server.domain.extraction_policy import ExtractionPolicy, PolicyChanges
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.profile_schema import ProfileSchema
from ricordo_server.domain.project_settings import (
    ContextDefaults,
    CustomType,
    DeclaredKey,
    MetadataPolicy,
    MetadataType,
    ProjectSettings,
)
from ricordo_server.domain.retention import Retention
from ricordo_server.domain.store_settings import ScopedExtraction, StoreSettings


def settings_column(settings: ProjectSettings | StoreSettings) -> Jsonb:
    """What is as in no settings at all is left out."""
    unset = type(settings)()
    names = [field.name for field in fields(settings) if field.name != "language"]
    given = {name: getattr(settings, name) for name in names}
    columns = {name: value for name, value in given.items() if value != getattr(unset, name)}
    return Jsonb(columns, dumps=partial(json.dumps, default=_plain))


def _plain(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else asdict(value)


@lru_cache(maxsize=1024)
def settings_from(stored: str, language: str | None) -> ProjectSettings:
    """Every transaction reads its project's settings, which hardly ever change: the same text is decoded once."""
    columns = json.loads(stored)
    return ProjectSettings(
        language=language,
        metadata_policy=MetadataPolicy(columns.get("metadata_policy", MetadataPolicy.OPEN)),
        metadata_keys=_keys_from(columns.get("metadata_keys", ())),
        custom_types=tuple(
            CustomType(each["name"], _keys_from(each["tags"])) for each in columns.get("custom_types", ())
        ),
        context=_context_from(columns.get("context", {})),
        extraction=ExtractionPolicy().changed(_policy_from(columns.get("extraction", {}))),
        end_users_may_publish=columns.get("end_users_may_publish", False),
        retention=_retention_from(columns.get("retention", {})),
        profile_schemas=_schemas_from(columns.get("profile_schemas", ())),
    )


@lru_cache(maxsize=1024)
def store_settings_from(stored: str, language: str | None) -> StoreSettings:
    columns = json.loads(stored)
    return StoreSettings(
        language=language,
        extraction=_policy_from(columns.get("extraction", {})),
        scoped_extraction=tuple(
            ScopedExtraction(tuple(each["scope_keys"]), _policy_from(each["extraction"]))
            for each in columns.get("scoped_extraction", ())
        ),
        retention=_retention_from(columns.get("retention", {})),
        profile_schemas=(_schemas_from(columns["profile_schemas"]) if "profile_schemas" in columns else None),
    )


def _keys_from(stored: Any) -> tuple[DeclaredKey, ...]:
    return tuple(DeclaredKey(each["name"], MetadataType(each["value_type"])) for each in stored)


def _context_from(stored: Mapping[str, Any]) -> ContextDefaults:
    given = stored.get("format")
    return ContextDefaults(
        stored.get("max_tokens"),
        ContextFormat(given) if given else None,
        stored.get("top_k"),
        stored.get("template"),
    )


def _schemas_from(stored: Any) -> tuple[ProfileSchema, ...]:
    return tuple(
        ProfileSchema(each["schema_id"], each["json_schema"], tuple(each["scope_keys"])) for each in stored
    )


def _retention_from(stored: Mapping[str, Any]) -> Retention:
    disabled = stored.get("disable_revisions")
    seconds = {name: value for name, value in stored.items() if name.endswith("_ttl") and value is not None}
    ttls = {name: timedelta(seconds=value) for name, value in seconds.items()}
    return Retention(**ttls, disable_revisions=disabled)


def _example_from(stored: Mapping[str, Any]) -> Example:
    learned = (ExampleMemory(each["content"], tuple(each["topics"])) for each in stored["learned"])
    return Example(stored["conversation"], tuple(learned))


# How fields of a policy are read whose values are not as JSON has them.
_POLICY_FIELDS: Mapping[str, Callable[[Any], object]] = {
    "kinds": lambda stored: tuple(map(MemoryKind, stored)),
    "prompts": lambda stored: {MemoryKind(kind): prompt for kind, prompt in stored.items()},
    "topics": lambda stored: tuple(Topic(**each) for each in stored),
    "examples": lambda stored: tuple(map(_example_from, stored)),
    "person": Person,
    "least_trust": Trust,
}


def _policy_from(stored: Mapping[str, Any]) -> PolicyChanges:
    return {
        name: _POLICY_FIELDS[name](value) if name in _POLICY_FIELDS else value
        for name, value in stored.items()
    }
