"""How turns become memories, as a project says."""

from datetime import timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration

from ricordo.v1 import memory_pb2, project_pb2
from ricordo_server.domain.errors import invalid_field, over_limit
from ricordo_server.domain.extraction import EXTRACTED_KINDS, Example, Topic
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.limits import (
    MAX_EXAMPLE_BYTES,
    MAX_EXAMPLE_CONTENTS,
    MAX_EXAMPLES,
    MAX_POLICY_TOPICS,
    MAX_PROMPT_CHARACTERS,
)
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.promotion import FLUSH, MOST_SNAPSHOT_TURNS, PromotionTriggers
from ricordo_server.rpc.checks import check_count, check_range, check_text, check_texts
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.generation import decode_zone
from ricordo_server.rpc.convert.memories import decode_topics, encode_topic
from ricordo_server.rpc.convert.times import decode_duration

KIND = memory_pb2.MemoryKind.DESCRIPTOR
MOST_OVERLAP = 20


def decode_extraction_policy(message: project_pb2.ExtractionPolicy, field: str) -> ExtractionPolicy:
    return ExtractionPolicy(
        enabled=message.enabled if message.HasField("enabled") else True,
        triggers=_decode_triggers(message, field),
        kinds=_decode_kinds(message, f"{field}.kinds"),
        endpoint=check_text(f"{field}.endpoint", message.endpoint),
        model=check_text(f"{field}.model", message.model),
        prompts=_decode_prompts(message, f"{field}.prompts"),
        topics=_decode_topics(message, f"{field}.topics"),
        examples=_decode_examples(message, f"{field}.examples"),
        time_zone=_decode_zone(message.time_zone, f"{field}.time_zone"),
    )


def _decode_zone(name: str, field: str) -> str:
    """As it is written: the name is what is kept."""
    return name if decode_zone(name, field) else ExtractionPolicy.time_zone


def _decode_prompts(message: project_pb2.ExtractionPolicy, field: str) -> dict[MemoryKind, str]:
    prompts: dict[MemoryKind, str] = {}
    for number, prompt in enumerate(message.prompts):
        kind = decode_enum(prompt.kind, KIND, MemoryKind, f"{field}[{number}].kind")
        if kind not in EXTRACTED_KINDS or kind in prompts:
            advice = f"give each of {', '.join(EXTRACTED_KINDS)} at most once"
            raise invalid_field(f"{field}[{number}].kind", advice)
        place = f"{field}[{number}].text"
        check_text(place, prompt.text, limit=4 * MAX_PROMPT_CHARACTERS, required=True)
        if len(prompt.text) > MAX_PROMPT_CHARACTERS:
            raise over_limit(place, "characters", MAX_PROMPT_CHARACTERS, len(prompt.text))
        prompts[kind] = prompt.text
    return prompts


def _decode_topics(message: project_pb2.ExtractionPolicy, field: str) -> tuple[Topic, ...]:
    check_count(field, len(message.topics), MAX_POLICY_TOPICS)
    names = decode_topics([each.topic for each in message.topics], field)
    return tuple(
        Topic(name, check_text(f"{field}[{number}].description", each.description))
        for number, (name, each) in enumerate(zip(names, message.topics, strict=True))
    )


def _decode_examples(message: project_pb2.ExtractionPolicy, field: str) -> tuple[Example, ...]:
    check_count(field, len(message.examples), MAX_EXAMPLES)
    return tuple(
        Example(
            check_text(
                f"{field}[{number}].conversation",
                each.conversation,
                limit=MAX_EXAMPLE_BYTES,
                required=True,
            ),
            check_texts(f"{field}[{number}].learned", each.learned, most=MAX_EXAMPLE_CONTENTS),
        )
        for number, each in enumerate(message.examples)
    )


def _decode_triggers(message: project_pb2.ExtractionPolicy, field: str) -> PromotionTriggers:
    given: dict[str, Any] = {}
    if message.HasField("turn_count"):
        check_range(f"{field}.turn_count", message.turn_count, 0, MOST_SNAPSHOT_TURNS)
        given["turn_count"] = message.turn_count or None
    if message.HasField("idle"):
        given["idle_seconds"] = _decode_idle(message, f"{field}.idle")
    if message.HasField("topic_shift"):
        if not 0 <= message.topic_shift <= 1:
            raise invalid_field(f"{field}.topic_shift", f"{field}.topic_shift is a cosine: give 0 to 1")
        given["topic_shift"] = message.topic_shift or None
    if message.HasField("overlap"):
        given["overlap"] = check_range(f"{field}.overlap", message.overlap, 0, MOST_OVERLAP)
    return PromotionTriggers(**given)


def _decode_idle(message: project_pb2.ExtractionPolicy, field: str) -> float | None:
    idle = decode_duration(message.idle, field)
    if not timedelta(0) <= idle <= FLUSH:
        raise invalid_field(field, f"{field} is up to 24 hours; zero for no such trigger")
    return idle.total_seconds() or None


def _decode_kinds(message: project_pb2.ExtractionPolicy, field: str) -> tuple[MemoryKind, ...]:
    check_count(field, len(message.kinds), len(EXTRACTED_KINDS))
    kinds = [decode_enum(number, KIND, MemoryKind, field) for number in message.kinds]
    if any(kind not in EXTRACTED_KINDS for kind in kinds):
        raise invalid_field(field, f"{field} takes {', '.join(EXTRACTED_KINDS)}")
    return tuple(kind for kind in EXTRACTED_KINDS if kind in kinds) or EXTRACTED_KINDS


def encode_extraction_policy(policy: ExtractionPolicy) -> project_pb2.ExtractionPolicy | None:
    """Nothing for the defaults."""
    if policy == ExtractionPolicy():
        return None
    idle = Duration()
    idle.FromTimedelta(timedelta(seconds=policy.triggers.idle_seconds or 0))
    kinds: Any = [] if policy.kinds == EXTRACTED_KINDS else [encode_enum(kind, KIND) for kind in policy.kinds]
    return project_pb2.ExtractionPolicy(
        enabled=policy.enabled,
        turn_count=policy.triggers.turn_count or 0,
        idle=idle,
        topic_shift=policy.triggers.topic_shift or 0,
        overlap=policy.triggers.overlap,
        kinds=kinds,
        endpoint=policy.endpoint,
        model=policy.model,
        prompts=[_encode_prompt(kind, text) for kind, text in policy.prompts.items()],
        topics=[
            project_pb2.TopicOfInterest(topic=encode_topic(each.name), description=each.description)
            for each in policy.topics
        ],
        examples=[project_pb2.ExtractionExample(**vars(each)) for each in policy.examples],
        time_zone="" if policy.time_zone == ExtractionPolicy.time_zone else policy.time_zone,
    )


def _encode_prompt(kind: MemoryKind, text: str) -> project_pb2.KindPrompt:
    number: Any = encode_enum(kind, KIND)
    return project_pb2.KindPrompt(kind=number, text=text)
