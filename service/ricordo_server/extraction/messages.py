"""The messages a model gets. What was said is data inside them: JSON, so that nothing in it can end the frame."""

import json
from collections.abc import Iterator, Mapping, Sequence

from ricordo_server.domain.extraction import (
    Compared,
    ExampleMemory,
    ExtractionRequest,
    Guidance,
    Person,
    Utterance,
)
from ricordo_server.domain.memory import CUSTOM_TOPIC, MANAGED_TOPIC, MemoryKind
from ricordo_server.domain.profile_schema import Profile
from ricordo_server.extraction.prompts import load_prompt

Message = dict[str, str]


def topic_names(guidance: Guidance) -> Mapping[str, str]:
    """The topics of the project by the names that the model sees."""
    return {_shown(topic.name): topic.name for topic in guidance.topics}


def _shown(topic: str) -> str:
    return topic.removeprefix(MANAGED_TOPIC).removeprefix(CUSTOM_TOPIC)


def extraction_messages(request: ExtractionRequest, schema: Mapping[str, object]) -> list[Message]:
    guidance = request.guidance
    parts = [
        load_prompt("frame"),
        guidance.prompt or load_prompt(request.kind.lower()),
        *_person(request),
        *_schemas(request),
        *_topics(guidance),
        *_examples(guidance),
        f"Answer with one JSON object of this schema and nothing else:\n{json.dumps(schema)}",
    ]
    return [
        {"role": "system", "content": "\n\n".join(parts)},
        {"role": "user", "content": _conversation(request)},
    ]


def _person(request: ExtractionRequest) -> Iterator[str]:
    """Of facts alone. A project's own text may say it itself, so only what differs from the usual is added to it."""
    third = request.guidance.person is Person.THIRD
    if request.kind is MemoryKind.SEMANTIC and (third or not request.guidance.prompt):
        yield load_prompt("third_person" if third else "first_person")


def _profiles(request: ExtractionRequest) -> Sequence[Profile]:
    return request.profiles if request.kind is MemoryKind.PROFILE else ()


def _schemas(request: ExtractionRequest) -> Iterator[str]:
    schemas = [profile.schema for profile in _profiles(request)]
    if schemas:
        listed = [f"{schema.schema_id}: {schema.json_schema}" for schema in schemas]
        yield "The schemas, each behind its `schema_id`:\n" + "\n".join(listed)


def _topics(guidance: Guidance) -> Iterator[str]:
    """With topics, what fits none of them is not wanted."""
    if guidance.topics:
        lines = [
            f"- {name}: {topic.description}" if topic.description else f"- {name}"
            for name, topic in zip(topic_names(guidance), guidance.topics, strict=True)
        ]
        yield "Topics. Write down only what fits at least one of them.\n" + "\n".join(lines)


def _examples(guidance: Guidance) -> Iterator[str]:
    for example in guidance.examples:
        learned = json.dumps(list(map(_learned, example.learned)), ensure_ascii=False)
        said = _quoted(example.conversation)
        yield f"Example. Of this conversation:\n{said}\nthe contents to write down are: {learned}"


def _learned(memory: ExampleMemory) -> str | dict[str, object]:
    if not memory.topics:
        return memory.content
    return {"content": memory.content, "topics": list(map(_shown, memory.topics))}


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _conversation(request: ExtractionRequest) -> str:
    context = [_turn("context", utterance) for utterance in request.context]
    turns = [_turn(number, utterance) for number, utterance in enumerate(request.utterances, 1)]
    return "\n".join([*_known(request), "BEGIN CONVERSATION", *context, *turns, "END CONVERSATION"])


def _known(request: ExtractionRequest) -> Iterator[str]:
    """A line for each profile of which something is known, whatever its values hold."""
    for profile in _profiles(request):
        if profile.fields:
            values = {name: field.value for name, field in profile.fields.items()}
            yield json.dumps(
                {"known_profile": profile.schema.schema_id, "values": values}, ensure_ascii=False
            )


def _turn(number: int | str, utterance: Utterance) -> str:
    """One line, whatever the text holds."""
    time = utterance.time.isoformat(timespec="minutes")
    fields = {"turn": number, "role": utterance.role, "time": time, "text": utterance.text}
    return json.dumps(fields, ensure_ascii=False)


def consolidation_messages(compared: Sequence[Compared], schema: Mapping[str, object]) -> list[Message]:
    prompt = load_prompt("consolidate")
    asked = f"{prompt}\n\nAnswer with one JSON object of this schema and nothing else:\n{json.dumps(schema)}"
    lines = [_compared(number, each) for number, each in enumerate(compared, 1)]
    return [{"role": "system", "content": asked}, {"role": "user", "content": "\n".join(lines)}]


def _compared(number: int, each: Compared) -> str:
    known = [{"known": place, "content": memory.content} for place, memory in enumerate(each.known, 1)]
    fields = {"candidate": number, "content": each.candidate.content, "known_facts": known}
    return json.dumps(fields, ensure_ascii=False)
