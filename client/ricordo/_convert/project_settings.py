"""A project's settings, to the wire and back."""

from collections.abc import Iterable
from datetime import timedelta

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import enums, memories, paging, values
from ricordo.errors import MemoryClientError
from ricordo.v1 import project_pb2, project_service_pb2

DEFAULT = models.ExtractionPolicy()


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
        update_mask=FieldMask(paths=[f"settings.{name}" for name in given]),
        expected_revision=expected_revision,
        force=force,
        request_id=paging.fresh(request_id),
    )


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
        extraction=_encode_extraction(settings.extraction),
    )


def _encode_extraction(policy: models.ExtractionPolicy) -> project_pb2.ExtractionPolicy:
    return project_pb2.ExtractionPolicy(
        enabled=policy.enabled,
        turn_count=policy.turn_count or 0,
        idle=values.encode_duration(policy.idle or timedelta(0)),
        topic_shift=policy.topic_shift or 0,
        overlap=policy.overlap,
        kinds=[enums.MEMORY_KIND.encode(kind) for kind in policy.kinds],
        endpoint=policy.endpoint,
        model=policy.model,
        prompts=[
            project_pb2.KindPrompt(kind=enums.MEMORY_KIND.encode(kind), text=text)
            for kind, text in policy.prompts.items()
        ],
        topics=[
            project_pb2.TopicOfInterest(topic=memories.encode_topic(each.topic), description=each.description)
            for each in policy.topics
        ],
        examples=[project_pb2.ExtractionExample(**each.model_dump()) for each in policy.examples],
        time_zone=policy.time_zone,
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
        extraction=_decode_extraction(settings.extraction) if settings.HasField("extraction") else DEFAULT,
    )


def _decode_extraction(policy: project_pb2.ExtractionPolicy) -> models.ExtractionPolicy:
    return models.ExtractionPolicy(
        enabled=policy.enabled,
        turn_count=policy.turn_count or None,
        idle=policy.idle.ToTimedelta() or None,
        topic_shift=policy.topic_shift or None,
        overlap=policy.overlap,
        kinds=tuple(enums.MEMORY_KIND.decode(kind) for kind in policy.kinds),
        endpoint=policy.endpoint,
        model=policy.model,
        prompts={enums.MEMORY_KIND.decode(each.kind): each.text for each in policy.prompts},
        topics=tuple(
            models.TopicOfInterest(topic=memories.decode_topic(each.topic), description=each.description)
            for each in policy.topics
        ),
        examples=tuple(
            models.ExtractionExample(conversation=each.conversation, learned=tuple(each.learned))
            for each in policy.examples
        ),
        time_zone=policy.time_zone or "UTC",
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
