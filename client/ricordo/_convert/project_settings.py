"""A project's settings, to the wire and back."""

from collections.abc import Iterable

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import enums, paging
from ricordo._convert.policies import decode_policy, decode_retention, encode_policy, encode_retention
from ricordo._convert.profiles import decode_schemas, encode_schema
from ricordo.errors import MemoryClientError
from ricordo.v1 import project_pb2, project_service_pb2


def update_project_request(
    changes: models.ProjectChanges, *, expected_revision: int | None, force: bool, request_id: str | None
) -> project_service_pb2.UpdateProjectRequest:
    """Asks to change the settings that were given.

    Raises:
        MemoryClientError: None was given.
    """
    given = [name for name in models.ProjectSettings.model_fields if name in changes.model_fields_set]
    if not given:
        raise MemoryClientError(
            "update changes the settings that are given, and none is: ProjectChanges(language=...)"
        )
    return project_service_pb2.UpdateProjectRequest(
        project=project_pb2.Project(settings=encode_settings(changes)),
        update_mask=FieldMask(paths=[path for name in given for path in _paths(changes, name)]),
        expected_revision=expected_revision,
        force=force,
        request_id=paging.fresh(request_id),
    )


def _paths(changes: models.ProjectChanges, name: str) -> list[str]:
    if name == "extraction" and isinstance(changes.extraction, models.ExtractionChanges):
        return [f"settings.extraction.{field}" for field in sorted(changes.extraction.model_fields_set)]
    return [f"settings.{name}"]


def encode_settings(settings: models.ProjectSettings) -> project_pb2.ProjectSettings:
    """Encodes settings."""
    return project_pb2.ProjectSettings(
        language=settings.language,
        metadata_policy=enums.METADATA_POLICY.encode(settings.metadata_policy),
        metadata_keys=[_encode_key(key) for key in settings.metadata_keys],
        custom_types=[
            project_pb2.CustomType(name=each.name, tags=[_encode_tag(tag) for tag in each.tags])
            for each in settings.custom_types
        ],
        context=project_pb2.ContextDefaults(
            max_tokens=settings.context.max_tokens,
            format=enums.CONTEXT_FORMAT.encode(settings.context.format),
            top_k=settings.context.top_k,
            template=settings.context.template,
        ),
        end_users_may_publish=settings.end_users_may_publish,
        extraction=encode_policy(settings.extraction, models.ExtractionPolicy.model_fields),
        retention=encode_retention(settings.retention),
        profile_schemas=map(encode_schema, settings.profile_schemas),
    )


def _encode_key(key: models.MetadataKey) -> project_pb2.MetadataKey:
    return project_pb2.MetadataKey(name=key.name, value_type=enums.METADATA_TYPE.encode(key.value_type))


def _encode_tag(tag: models.MetadataKey) -> project_pb2.CustomTypeTag:
    return project_pb2.CustomTypeTag(name=tag.name, value_type=enums.METADATA_TYPE.encode(tag.value_type))


def decode_settings(settings: project_pb2.ProjectSettings) -> models.ProjectSettings:
    """Decodes settings; a policy that is not given is the open one."""
    return models.ProjectSettings(
        language=settings.language or None,
        metadata_policy=enums.METADATA_POLICY.decode(
            settings.metadata_policy or project_pb2.METADATA_POLICY_OPEN
        ),
        metadata_keys=_decode_keys(settings.metadata_keys),
        custom_types=tuple(
            models.CustomType(name=each.name, tags=_decode_keys(each.tags)) for each in settings.custom_types
        ),
        context=_decode_context(settings.context),
        end_users_may_publish=settings.end_users_may_publish,
        extraction=decode_policy(settings.extraction),
        retention=decode_retention(settings.retention),
        profile_schemas=decode_schemas(settings.profile_schemas),
    )


def _decode_keys(
    keys: Iterable[project_pb2.MetadataKey | project_pb2.CustomTypeTag],
) -> tuple[models.MetadataKey, ...]:
    return tuple(
        models.MetadataKey(name=key.name, value_type=enums.METADATA_TYPE.decode(key.value_type))
        for key in keys
    )


def _decode_context(context: project_pb2.ContextDefaults) -> models.ContextDefaults:
    return models.ContextDefaults(
        max_tokens=context.max_tokens if context.HasField("max_tokens") else None,
        format=enums.CONTEXT_FORMAT.decode(context.format) if context.format else None,
        top_k=context.top_k if context.HasField("top_k") else None,
        template=context.template or None,
    )
