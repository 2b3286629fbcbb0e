"""How a project works: its declarations and defaults."""

import re
from collections.abc import Sequence
from typing import Any

from ricordo.v1 import context_pb2, project_pb2
from ricordo_server.domain.context import ContextFormat
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.limits import (
    MAX_CONTEXT_TOKENS,
    MAX_CUSTOM_TYPES,
    MAX_DECLARED_KEYS,
    MAX_TEMPLATE_BYTES,
    MAX_TOP_K,
)
from ricordo_server.domain.project_settings import (
    ContextDefaults,
    CustomType,
    DeclaredKey,
    MetadataPolicy,
    MetadataType,
    ProjectSettings,
)
from ricordo_server.rpc.checks import TYPE_NAME, check_count, check_pattern, check_range, check_text
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.extraction_policy import decode_policy_changes, encode_extraction_policy
from ricordo_server.rpc.convert.languages import decode_language
from ricordo_server.rpc.convert.profiles import decode_profile_schemas, encode_profile_schemas
from ricordo_server.rpc.convert.retention import decode_retention, encode_retention

KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}(\.[A-Za-z_][A-Za-z0-9_-]{0,63})?")
# Names of the kinds and of what else a memory system has, so that no type is taken for one of them.
RESERVED_TYPES = (
    "semantic", "episodic", "taxonomic", "procedural", "document", "profile", "custom", "snapshot", "entity",
    "preferences", "turn", "stm", "short_term",
)  # fmt: skip
POLICY, TYPE = project_pb2.MetadataPolicy.DESCRIPTOR, project_pb2.MetadataType.DESCRIPTOR
FORMAT = context_pb2.ContextFormat.DESCRIPTOR


def decode_settings(message: project_pb2.ProjectSettings, field: str) -> ProjectSettings:
    check_count(f"{field}.custom_types", len(message.custom_types), MAX_CUSTOM_TYPES)
    policy = decode_enum(message.metadata_policy, POLICY, MetadataPolicy, f"{field}.metadata_policy")
    return ProjectSettings(
        language=decode_language(message, f"{field}.language"),
        metadata_policy=policy or MetadataPolicy.OPEN,
        metadata_keys=_decode_keys(message.metadata_keys, f"{field}.metadata_keys"),
        custom_types=tuple(
            _decode_custom_type(each, f"{field}.custom_types[{number}]")
            for number, each in enumerate(message.custom_types)
        ),
        context=_decode_context(message.context, f"{field}.context"),
        end_users_may_publish=message.end_users_may_publish,
        extraction=ExtractionPolicy().changed(
            decode_policy_changes(message.extraction, f"{field}.extraction")
        ),
        retention=decode_retention(message.retention, f"{field}.retention"),
        profile_schemas=decode_profile_schemas(message.profile_schemas, f"{field}.profile_schemas"),
    )


def _decode_keys(
    messages: Sequence[project_pb2.MetadataKey | project_pb2.CustomTypeTag], field: str
) -> tuple[DeclaredKey, ...]:
    check_count(field, len(messages), MAX_DECLARED_KEYS)
    return tuple(_decode_key(message, f"{field}[{number}]") for number, message in enumerate(messages))


def _decode_key(message: project_pb2.MetadataKey | project_pb2.CustomTypeTag, field: str) -> DeclaredKey:
    value_type = decode_enum(message.value_type, TYPE, MetadataType, f"{field}.value_type")
    if value_type is None:
        raise invalid_field(
            f"{field}.value_type", f"value_type is required; accepted: {', '.join(MetadataType)}"
        )
    return DeclaredKey(check_pattern(f"{field}.name", message.name, KEY_NAME), value_type)


def _decode_custom_type(message: project_pb2.CustomType, field: str) -> CustomType:
    name = check_pattern(f"{field}.name", message.name, TYPE_NAME)
    if name in RESERVED_TYPES:
        raise invalid_field(f"{field}.name", f"{name!r} is reserved: choose another name")
    return CustomType(name, _decode_keys(message.tags, f"{field}.tags"))


def _decode_context(message: project_pb2.ContextDefaults, field: str) -> ContextDefaults:
    def given(name: str, most: int) -> int | None:
        if not message.HasField(name):  # type: ignore[arg-type]
            return None
        return check_range(f"{field}.{name}", getattr(message, name), 1, most)

    return ContextDefaults(
        max_tokens=given("max_tokens", MAX_CONTEXT_TOKENS),
        format=decode_enum(message.format, FORMAT, ContextFormat, f"{field}.format"),
        top_k=given("top_k", MAX_TOP_K),
        template=check_text(f"{field}.template", message.template, limit=MAX_TEMPLATE_BYTES) or None,
    )


def encode_settings(settings: ProjectSettings) -> project_pb2.ProjectSettings:
    context = settings.context
    rendering: Any = encode_enum(context.format, FORMAT) if context.format else None
    return project_pb2.ProjectSettings(
        language=settings.language,
        metadata_policy=encode_enum(settings.metadata_policy, POLICY),
        metadata_keys=[project_pb2.MetadataKey(**_encode_key(key)) for key in settings.metadata_keys],
        custom_types=[_encode_custom_type(each) for each in settings.custom_types],
        context=project_pb2.ContextDefaults(
            max_tokens=context.max_tokens,
            format=rendering,
            top_k=context.top_k,
            template=context.template,
        ),
        end_users_may_publish=settings.end_users_may_publish,
        extraction=encode_extraction_policy(settings.extraction),
        retention=encode_retention(settings.retention),
        profile_schemas=encode_profile_schemas(settings.profile_schemas),
    )


def _encode_custom_type(custom_type: CustomType) -> project_pb2.CustomType:
    tags = [project_pb2.CustomTypeTag(**_encode_key(tag)) for tag in custom_type.tags]
    return project_pb2.CustomType(name=custom_type.name, tags=tags)


def _encode_key(key: DeclaredKey) -> dict[str, Any]:
    return {"name": key.name, "value_type": encode_enum(key.value_type, TYPE)}
