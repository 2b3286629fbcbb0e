"""How turns become memories and how long these are kept, to the wire and back."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from ricordo import models
from ricordo._convert import enums, memories, values
from ricordo._convert.profiles import decode_schemas, encode_schema
from ricordo.v1 import project_pb2, retention_pb2, store_pb2

# What is inherited where it is empty, so that "none" needs a word of its own.
CLEARABLE = ("kinds", "endpoint", "model", "prompts", "topics", "examples")
TTLS = tuple(name for name in models.Retention.model_fields if name.endswith("_ttl"))


def encode_policy(policy: models.ExtractionPolicy, names: Collection[str]) -> project_pb2.ExtractionPolicy:
    """Encodes the fields of these names; what is None is sent as zero."""
    whole: dict[str, Any] = {
        "enabled": policy.enabled,
        "turn_count": policy.turn_count or 0,
        "idle": values.encode_duration(policy.idle or timedelta(0)),
        "topic_shift": policy.topic_shift or 0,
        "overlap": policy.overlap,
        "kinds": [enums.MEMORY_KIND.encode(kind) for kind in policy.kinds],
        "endpoint": policy.endpoint,
        "model": policy.model,
        "prompts": [
            project_pb2.KindPrompt(kind=enums.MEMORY_KIND.encode(kind), text=text)
            for kind, text in policy.prompts.items()
        ],
        "topics": [
            project_pb2.TopicOfInterest(topic=memories.encode_topic(each.topic), description=each.description)
            for each in policy.topics
        ],
        "examples": map(_encode_example, policy.examples),
        "time_zone": policy.time_zone,
        "person": enums.PERSON.encode(policy.person),
        "least_trust": policy.least_trust,
    }
    return project_pb2.ExtractionPolicy(
        **{name: value for name, value in whole.items() if name in names},
        cleared=[name for name in CLEARABLE if name in names and not getattr(policy, name)],
    )


def _encode_example(example: models.ExtractionExample) -> project_pb2.ExtractionExample:
    learned = (
        models.ExampleMemory(content=each) if isinstance(each, str) else each for each in example.learned
    )
    return project_pb2.ExtractionExample(
        conversation=example.conversation,
        learned=[
            project_pb2.ExampleMemory(content=each.content, topics=map(memories.encode_topic, each.topics))
            for each in learned
        ],
    )


def _decode_example(example: project_pb2.ExtractionExample) -> models.ExtractionExample:
    learned = (
        models.ExampleMemory(content=each.content, topics=tuple(map(memories.decode_topic, each.topics)))
        if each.topics
        else each.content
        for each in example.learned
    )
    return models.ExtractionExample(conversation=example.conversation, learned=tuple(learned))


def decode_policy(policy: project_pb2.ExtractionPolicy) -> models.ExtractionPolicy:
    """Decodes the fields that are given; the others are as by default, and not set."""
    given: dict[str, Any] = {}
    for name in ("enabled", "turn_count", "topic_shift", "overlap"):
        if policy.HasField(name):
            given[name] = getattr(policy, name)
    for name in ("turn_count", "topic_shift"):
        if name in given:
            given[name] = given[name] or None
    if policy.HasField("idle"):
        given["idle"] = policy.idle.ToTimedelta() or None
    lists_and_texts: dict[str, Any] = {
        "kinds": tuple(enums.MEMORY_KIND.decode(kind) for kind in policy.kinds),
        "endpoint": policy.endpoint,
        "model": policy.model,
        "prompts": {enums.MEMORY_KIND.decode(each.kind): each.text for each in policy.prompts},
        "topics": tuple(
            models.TopicOfInterest(topic=memories.decode_topic(each.topic), description=each.description)
            for each in policy.topics
        ),
        "examples": tuple(map(_decode_example, policy.examples)),
        "time_zone": policy.time_zone,
        "person": enums.PERSON.decode(policy.person) if policy.person else None,
        "least_trust": policy.least_trust,
    }
    given |= {name: value for name, value in lists_and_texts.items() if value or name in policy.cleared}
    return models.ExtractionPolicy(**given)


def encode_retention(retention: models.Retention) -> retention_pb2.Retention:
    """Encodes what is said."""
    ttls = {name: value for name in TTLS if (value := getattr(retention, name)) is not None}
    return retention_pb2.Retention(
        **{name: values.encode_duration(value) for name, value in ttls.items()},
        disable_revisions=retention.disable_revisions,
    )


def decode_retention(retention: retention_pb2.Retention) -> models.Retention:
    """Decodes what is said."""
    given: dict[str, Any] = {
        name: getattr(retention, name).ToTimedelta()
        for name in TTLS
        if retention.HasField(name)  # type: ignore[arg-type] # as above
    }
    if retention.HasField("disable_revisions"):
        given["disable_revisions"] = retention.disable_revisions
    return models.Retention(**given)


def encode_store_settings(settings: models.StoreSettings) -> store_pb2.StoreSettings:
    """Encodes settings; of policies the fields that were given."""
    extraction = settings.extraction
    return store_pb2.StoreSettings(
        language=settings.language or None,
        extraction=encode_policy(extraction, extraction.model_fields_set) if extraction else None,
        scoped_extraction=[
            store_pb2.ScopedExtraction(
                scope_keys=each.scope_keys,
                extraction=encode_policy(each.extraction, each.extraction.model_fields_set),
            )
            for each in settings.scoped_extraction
        ],
        retention=encode_retention(settings.retention),
        profile_schemas=map(encode_schema, settings.profile_schemas or ()),
        without_profile_schemas=settings.profile_schemas == (),
    )


def decode_store_settings(settings: store_pb2.StoreSettings) -> models.StoreSettings:
    """Decodes settings."""
    return models.StoreSettings(
        language=settings.language or None,
        extraction=decode_policy(settings.extraction) if settings.HasField("extraction") else None,
        scoped_extraction=tuple(
            models.ScopedExtraction(
                scope_keys=tuple(each.scope_keys), extraction=decode_policy(each.extraction)
            )
            for each in settings.scoped_extraction
        ),
        retention=decode_retention(settings.retention),
        profile_schemas=decode_schemas(settings.profile_schemas)
        or (() if settings.without_profile_schemas else None),
    )
