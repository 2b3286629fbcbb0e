"""How turns become memories, as a project or a store says."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ricordo.v1 import memory_pb2, project_pb2
from ricordo_server.domain.consolidation import Trust
from ricordo_server.domain.errors import invalid_field, over_limit
from ricordo_server.domain.extraction import EXTRACTED_KINDS, Example, ExampleMemory, Person, Topic
from ricordo_server.domain.extraction_policy import ExtractionPolicy, PolicyChanges
from ricordo_server.domain.limits import (
    MAX_EXAMPLE_BYTES,
    MAX_EXAMPLE_CONTENTS,
    MAX_EXAMPLES,
    MAX_POLICY_TOPICS,
    MAX_PROMPT_CHARACTERS,
)
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.promotion import FLUSH, MOST_SNAPSHOT_TURNS
from ricordo_server.rpc.checks import check_count, check_range, check_text
from ricordo_server.rpc.convert.enums import decode_enum, encode_enum
from ricordo_server.rpc.convert.generation import decode_zone
from ricordo_server.rpc.convert.memories import decode_topics, encode_topic
from ricordo_server.rpc.convert.times import decode_duration, encode_duration

KIND, PERSON = memory_pb2.MemoryKind.DESCRIPTOR, project_pb2.Person.DESCRIPTOR
MOST_OVERLAP = 20
# A list or text that is not given is inherited, so these need a word of their own for "none".
CLEARABLE = ("kinds", "endpoint", "model", "prompts", "topics", "examples")
POLICY_FIELDS = tuple(set(project_pb2.ExtractionPolicy.DESCRIPTOR.fields_by_name) - {"cleared"})
# Where the domain has the fields that say when.
TRIGGERS = {
    "turn_count": "turn_count",
    "idle": "idle_seconds",
    "topic_shift": "topic_shift",
    "overlap": "overlap",
}


def decode_policy_changes(message: project_pb2.ExtractionPolicy, field: str) -> PolicyChanges:
    """The fields that are given."""
    given: dict[str, object] = {}
    if message.HasField("enabled"):
        given["enabled"] = message.enabled
    if triggers := _decode_triggers(message, field):
        given["triggers"] = triggers
    lists_and_texts = {
        "kinds": _decode_kinds(message, f"{field}.kinds"),
        "endpoint": check_text(f"{field}.endpoint", message.endpoint),
        "model": check_text(f"{field}.model", message.model),
        "prompts": _decode_prompts(message, f"{field}.prompts"),
        "topics": _decode_topics(message, f"{field}.topics"),
        "examples": _decode_examples(message, f"{field}.examples"),
        "time_zone": _decode_zone(message.time_zone, f"{field}.time_zone"),
        "person": decode_enum(message.person, PERSON, Person, f"{field}.person"),
        "least_trust": _decode_trust(message.least_trust, f"{field}.least_trust"),
    }
    given |= {name: value for name, value in lists_and_texts.items() if value}
    return given | _decode_cleared(message.cleared, given, f"{field}.cleared")


def _decode_cleared(names: Sequence[str], given: Collection[str], field: str) -> dict[str, object]:
    """What is as by default, whatever is inherited."""
    for name in names:
        if name not in CLEARABLE:
            raise invalid_field(field, f"{name!r:.64} cannot be cleared; accepted: {', '.join(CLEARABLE)}")
        if name in given:
            raise invalid_field(field, f"{name} is given and cleared: choose one")
    return {name: getattr(ExtractionPolicy(), name) for name in names}


def select_changes(policy: ExtractionPolicy, names: Collection[str]) -> PolicyChanges:
    """The values that fields of the message have in a policy; one that was not given is as by default."""
    of_triggers = {TRIGGERS[name] for name in names if name in TRIGGERS}
    changes: dict[str, object] = {name: getattr(policy, name) for name in names if name not in TRIGGERS}
    if of_triggers:
        changes["triggers"] = {name: getattr(policy.triggers, name) for name in of_triggers}
    return changes


def _decode_zone(name: str, field: str) -> str:
    """As it is written: the name is what is kept."""
    return name if decode_zone(name, field) else ""


def _decode_trust(word: str, field: str) -> Trust | None:
    """None when not given."""
    if word and word not in tuple(Trust):
        raise invalid_field(field, f"{field} takes {', '.join(Trust)}")
    return Trust(word) if word else None


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
            _decode_learned(each.learned, f"{field}[{number}].learned"),
        )
        for number, each in enumerate(message.examples)
    )


def _decode_learned(messages: Sequence[project_pb2.ExampleMemory], field: str) -> tuple[ExampleMemory, ...]:
    check_count(field, len(messages), MAX_EXAMPLE_CONTENTS)
    return tuple(
        ExampleMemory(
            check_text(f"{field}[{number}].content", each.content, required=True),
            tuple(decode_topics(each.topics, f"{field}[{number}].topics")),
        )
        for number, each in enumerate(messages)
    )


def _decode_triggers(message: project_pb2.ExtractionPolicy, field: str) -> dict[str, Any]:
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
    return given


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
    return tuple(kind for kind in EXTRACTED_KINDS if kind in kinds)


def encode_extraction_policy(policy: ExtractionPolicy) -> project_pb2.ExtractionPolicy | None:
    """Nothing for the defaults."""
    default = ExtractionPolicy()
    if policy == default:
        return None
    silent = {*CLEARABLE, "time_zone", "person", "least_trust"}
    given = {
        name: value
        for name, value in vars(policy).items()
        if name not in silent or value != getattr(default, name)
    }
    return encode_policy_changes({**given, "triggers": vars(policy.triggers)})


def encode_policy_changes(changes: Mapping[str, Any]) -> project_pb2.ExtractionPolicy:
    triggers = changes.get("triggers", {})
    default = ExtractionPolicy()
    cleared = [name for name in CLEARABLE if name in changes and changes[name] == getattr(default, name)]
    given: dict[str, Any] = {
        name: changes.get(name) for name in ("enabled", "endpoint", "model", "time_zone", "least_trust")
    }
    given |= {
        name: triggers[name] or 0 for name in ("turn_count", "topic_shift", "overlap") if name in triggers
    }
    if "idle_seconds" in triggers:
        given["idle"] = encode_duration(timedelta(seconds=triggers["idle_seconds"] or 0))
    if "person" in changes:
        given["person"] = encode_enum(changes["person"], PERSON)
    return project_pb2.ExtractionPolicy(
        **given,
        kinds=[] if "kinds" in cleared else [encode_enum(kind, KIND) for kind in changes.get("kinds", ())],
        prompts=[_encode_prompt(kind, text) for kind, text in changes.get("prompts", {}).items()],
        topics=[
            project_pb2.TopicOfInterest(topic=encode_topic(each.name), description=each.description)
            for each in changes.get("topics", ())
        ],
        examples=map(_encode_example, changes.get("examples", ())),
        cleared=cleared,
    )


def _encode_example(example: Example) -> project_pb2.ExtractionExample:
    return project_pb2.ExtractionExample(
        conversation=example.conversation,
        learned=[
            project_pb2.ExampleMemory(content=each.content, topics=map(encode_topic, each.topics))
            for each in example.learned
        ],
    )


def _encode_prompt(kind: MemoryKind, text: str) -> project_pb2.KindPrompt:
    number: Any = encode_enum(kind, KIND)
    return project_pb2.KindPrompt(kind=number, text=text)
