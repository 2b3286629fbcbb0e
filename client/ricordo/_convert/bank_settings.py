"""How a bank works: the settings of the store that it is."""

import re
from typing import Any

from ricordo import memory_bank as types
from ricordo import models
from ricordo._convert.bank_contents import our_role, text_of, their_role
from ricordo._convert.bank_profiles import decode_schemas, encode_schemas
from ricordo._convert.bank_values import our_topic, our_topics, their_scope, their_topic, their_topics
from ricordo.errors import MemoryClientError

LINE = re.compile(r"^(user|assistant|system|tool): ", re.MULTILINE)
"""How a turn of an example begins."""

LEARNED = (models.MemoryKind.SEMANTIC, models.MemoryKind.PROFILE)
PROFILES = (models.MemoryKind.PROFILE,)
CREATED = ("create_ttl", "generate_created_ttl", "generate_updated_ttl")


def encode_settings(config: types.ManagedSemanticMemoryConfig) -> models.StoreSettings:
    """The settings that say the same.

    Raises:
        MemoryClientError: Two customizations are for every scope.
    """
    default = [each for each in config.unstructured_memory_configs if not each.scope_keys]
    if len(default) > 1:
        raise MemoryClientError("unstructured_memory_configs: one may be without scope_keys, not several")
    policy = {"kinds": LEARNED, **_generation_fields(config.generation_config)}
    for each in default:
        policy |= _customization_fields(each)
    return models.StoreSettings(
        extraction=models.ExtractionPolicy(**policy),
        scoped_extraction=tuple(
            models.ScopedExtraction(
                scope_keys=tuple(each.scope_keys),
                extraction=models.ExtractionPolicy(**_customization_fields(each)),
            )
            for each in config.unstructured_memory_configs
            if each.scope_keys
        ),
        retention=_encode_retention(config),
        profile_schemas=(
            None
            if config.structured_memory_configs is None
            else encode_schemas(config.structured_memory_configs)
        ),
    )


def _generation_fields(config: types.ManagedSemanticMemoryConfigGenerationConfig | None) -> dict[str, Any]:
    if config is None:
        return {}
    fields: dict[str, Any] = {"model": config.model} if config.model else {}
    if config.generation_trigger_config is not None:
        rule = config.generation_trigger_config.generation_rule
        if rule.fixed_interval is not None:
            raise MemoryClientError("fixed_interval is for a stream: give it to ingest_events")
        fields |= {
            "turn_count": rule.event_count,
            "idle": rule.idle_duration,
            "topic_shift": None,
            "overlap": rule.overlap_event_count,
        }
    return fields


def _customization_fields(config: types.MemoryBankCustomizationConfig) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if config.memory_topics is not None:
        fields["topics"] = tuple(map(_encode_topic, config.memory_topics))
    if config.generate_memories_examples is not None:
        fields["examples"] = tuple(map(_encode_example, config.generate_memories_examples))
    if config.enable_third_person_memories is not None:
        third = config.enable_third_person_memories
        fields["person"] = models.Person.THIRD if third else models.Person.FIRST
    if config.disable_natural_language_memories is not None:
        fields["kinds"] = PROFILES if config.disable_natural_language_memories else LEARNED
    return fields


def _encode_topic(given: types.MemoryBankCustomizationConfigMemoryTopic) -> models.TopicOfInterest:
    custom, managed = given.custom_memory_topic, given.managed_memory_topic
    topic = types.MemoryTopicId(
        custom_memory_topic_label=custom.label if custom else None,
        managed_memory_topic=managed.managed_topic_enum if managed else None,
    )
    return models.TopicOfInterest(topic=our_topic(topic), description=custom.description if custom else "")


def _encode_example(
    example: types.MemoryBankCustomizationConfigGenerateMemoriesExample,
) -> models.ExtractionExample:
    said = [event.content for event in example.conversation_source.events]
    return models.ExtractionExample(
        conversation="\n".join(f"{our_role(content.role)}: {text_of(content)}" for content in said),
        learned=tuple(
            models.ExampleMemory(content=memory.fact, topics=our_topics(memory.topics))
            for memory in example.generated_memories
        ),
    )


def _encode_retention(config: types.ManagedSemanticMemoryConfig) -> models.Retention:
    ttl = config.ttl_config or types.ManagedSemanticMemoryConfigTtlConfig()
    granular = ttl.granular_ttl_config or types.ManagedSemanticMemoryConfigTtlConfigGranularTtlConfig()
    return models.Retention(
        default_ttl=ttl.default_ttl,
        revision_ttl=ttl.memory_revision_default_ttl,
        disable_revisions=config.disable_memory_revisions,
        **{name: getattr(granular, name) for name in CREATED},
    )


def learned_kinds(settings: models.StoreSettings, scope: models.Scope) -> tuple[models.MemoryKind, ...]:
    """What is made of turns in a scope, as the bank says: else facts and fields of profiles."""
    keys = their_scope(scope).keys()
    fitting = [each for each in settings.scoped_extraction if keys >= set(each.scope_keys)]
    closest = max(fitting, key=lambda each: len(each.scope_keys), default=None)
    policies = [closest.extraction if closest else None, settings.extraction]
    return next((policy.kinds for policy in policies if policy and policy.kinds), LEARNED)


def decode_settings(settings: models.StoreSettings) -> types.ManagedSemanticMemoryConfig:
    """What a bank has of its own, in the words of memory banks."""
    policy = settings.extraction or models.ExtractionPolicy()
    scoped = [
        _decode_customization(each.extraction, list(each.scope_keys)) for each in settings.scoped_extraction
    ]
    default = _decode_customization(policy, [])
    return types.ManagedSemanticMemoryConfig(
        generation_config=_decode_generation(policy),
        ttl_config=_decode_retention(settings.retention),
        disable_memory_revisions=settings.retention.disable_revisions,
        unstructured_memory_configs=[
            *([default] if default != types.MemoryBankCustomizationConfig() else []),
            *scoped,
        ],
        structured_memory_configs=(
            None if settings.profile_schemas is None else decode_schemas(settings.profile_schemas)
        ),
    )


def _decode_generation(
    policy: models.ExtractionPolicy,
) -> types.ManagedSemanticMemoryConfigGenerationConfig | None:
    given = policy.model_fields_set
    if not given & {"model", "turn_count", "idle", "overlap"}:
        return None
    rule = types.MemoryGenerationTriggerConfigGenerationTriggerRule(
        event_count=policy.turn_count, idle_duration=policy.idle, overlap_event_count=policy.overlap
    )
    trigger = types.MemoryGenerationTriggerConfig(generation_rule=rule)
    return types.ManagedSemanticMemoryConfigGenerationConfig(
        model=policy.model or None,
        generation_trigger_config=trigger if given & {"turn_count", "idle", "overlap"} else None,
    )


def _decode_customization(
    policy: models.ExtractionPolicy, scope_keys: list[str]
) -> types.MemoryBankCustomizationConfig:
    given = policy.model_fields_set
    return types.MemoryBankCustomizationConfig(
        scope_keys=scope_keys,
        memory_topics=list(map(_decode_topic, policy.topics)) if "topics" in given else None,
        generate_memories_examples=(
            list(map(_decode_example, policy.examples)) if "examples" in given else None
        ),
        enable_third_person_memories=policy.person is models.Person.THIRD if "person" in given else None,
        disable_natural_language_memories=True if policy.kinds == PROFILES else None,
    )


def _decode_topic(given: models.TopicOfInterest) -> types.MemoryBankCustomizationConfigMemoryTopic:
    topic = their_topic(given.topic)
    if topic.managed_memory_topic is not None:
        managed = types.MemoryBankCustomizationConfigMemoryTopicManagedMemoryTopic(
            managed_topic_enum=topic.managed_memory_topic
        )
        return types.MemoryBankCustomizationConfigMemoryTopic(managed_memory_topic=managed)
    custom = types.MemoryBankCustomizationConfigMemoryTopicCustomMemoryTopic(
        label=topic.custom_memory_topic_label or "", description=given.description
    )
    return types.MemoryBankCustomizationConfigMemoryTopic(custom_memory_topic=custom)


def _decode_example(
    example: models.ExtractionExample,
) -> types.MemoryBankCustomizationConfigGenerateMemoriesExample:
    unsaid, *said = LINE.split(example.conversation)
    spoken = [("user", unsaid)] if unsaid else []
    spoken += zip(said[::2], said[1::2], strict=True)
    events = [
        {"content": {"role": their_role(role), "parts": [{"text": text.removesuffix("\n")}]}}
        for role, text in spoken
    ]
    return types.MemoryBankCustomizationConfigGenerateMemoriesExample(
        conversation_source={"events": events},
        generated_memories=list(map(_decode_learned, example.learned)),
    )


def _decode_learned(
    learned: str | models.ExampleMemory,
) -> types.MemoryBankCustomizationConfigGenerateMemoriesExampleGeneratedMemory:
    if isinstance(learned, str):
        learned = models.ExampleMemory(content=learned)
    return types.MemoryBankCustomizationConfigGenerateMemoriesExampleGeneratedMemory(
        fact=learned.content, topics=their_topics(learned.topics)
    )


def _decode_retention(
    retention: models.Retention,
) -> types.ManagedSemanticMemoryConfigTtlConfig | None:
    granular = {name: getattr(retention, name) for name in CREATED}
    config = types.ManagedSemanticMemoryConfigTtlConfig(
        default_ttl=retention.default_ttl,
        granular_ttl_config=granular if any(value is not None for value in granular.values()) else None,
        memory_revision_default_ttl=retention.revision_ttl,
    )
    return config if config != types.ManagedSemanticMemoryConfigTtlConfig() else None
