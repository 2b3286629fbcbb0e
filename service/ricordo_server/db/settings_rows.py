"""A project's settings to their column and back. The language has a column of its own."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from psycopg.types.json import Jsonb

from ricordo_server.domain.context import ContextFormat
from ricordo_server.domain.extraction import Example, Topic
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.project_settings import (
    ContextDefaults,
    CustomType,
    DeclaredKey,
    MetadataPolicy,
    MetadataType,
    ProjectSettings,
)
from ricordo_server.domain.promotion import PromotionTriggers


def settings_column(settings: ProjectSettings) -> Jsonb:
    unset = {"language"} if settings.extraction != ExtractionPolicy() else {"language", "extraction"}
    return Jsonb({name: value for name, value in asdict(settings).items() if value and name not in unset})


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
        extraction=_extraction_from(columns["extraction"]) if "extraction" in columns else ExtractionPolicy(),
        end_users_may_publish=columns.get("end_users_may_publish", False),
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


def _extraction_from(stored: Mapping[str, Any]) -> ExtractionPolicy:
    return ExtractionPolicy(
        enabled=stored.get("enabled", True),
        triggers=PromotionTriggers(**stored.get("triggers", {})),
        kinds=tuple(map(MemoryKind, stored["kinds"])),
        endpoint=stored["endpoint"],
        model=stored["model"],
        prompts={MemoryKind(kind): prompt for kind, prompt in stored["prompts"].items()},
        topics=tuple(Topic(**each) for each in stored["topics"]),
        examples=tuple(Example(each["conversation"], tuple(each["learned"])) for each in stored["examples"]),
        time_zone=stored["time_zone"],
    )
