"""`project set-extraction`: when and how turns become memories."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

import ricordo
from ricordo_server.cli import options, project
from ricordo_server.cli.failures import MISUSE, Refusal

ManagedTopic = ricordo.models.ManagedTopic
MemoryKind = ricordo.models.MemoryKind
Person = ricordo.models.Person
TopicOfInterest = ricordo.models.TopicOfInterest


def register() -> None:
    """Adds the command to those on projects."""
    project.commands.command("set-extraction")(set_extraction)


def set_extraction(
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Turns become memories in the background.")
    ] = None,
    turn_count: Annotated[int | None, typer.Option(help="After so many turns; 0: not so.")] = None,
    idle_seconds: Annotated[
        float | None, typer.Option(help="After so long without a turn; 0: not so.")
    ] = None,
    topic_shift: Annotated[
        float | None, typer.Option(help="When a turn's cosine with those before it is below; 0: not so.")
    ] = None,
    overlap: Annotated[int | None, typer.Option(help="Turns given along to be understood.")] = None,
    kind: Annotated[
        list[MemoryKind] | None, typer.Option(help="A kind to extract; several times for several.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="What reads the turns, by its name; '': the server's default.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model of the endpoint; '': its own.")] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="KIND=TEXT in place of a kind's own; TEXT may be @FILE, and '' is its own again."),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="NAME or NAME=DESCRIPTION: only what is about a topic is kept; '': everything."),
    ] = None,
    time_zone: Annotated[str | None, typer.Option(help="Of users whose session does not say.")] = None,
    person: Annotated[
        Person | None, typer.Option(help="In which facts of the user are written.", case_sensitive=False)
    ] = None,
    least_trust: Annotated[
        str | None,
        typer.Option(help="Hold back what rests on others' words: user, assistant, tool; other: nothing."),
    ] = None,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Set when and how recorded turns become memories. What is not named stays; examples: see `ricordo apply`."""
    named: dict[str, Any] = {
        "enabled": enabled,
        "turn_count": turn_count,
        "idle": None if idle_seconds is None else timedelta(seconds=idle_seconds),
        "topic_shift": topic_shift,
        "overlap": overlap,
        "kinds": tuple(kind) if kind else None,
        "endpoint": endpoint,
        "model": model,
        "topics": None if topic is None else _topics(topic),
        "time_zone": time_zone,
        "person": person,
        "least_trust": least_trust,
    }
    changes = {name: value for name, value in named.items() if value is not None}
    with project.project_of(target, token) as (client, current):
        policy = current.settings.extraction
        if prompt:
            changes["prompts"] = _prompts(policy.prompts, prompt)
        if not changes:
            raise Refusal("nothing to set: name at least one option", status=MISUSE)
        project.change(client, current, extraction=policy.model_copy(update=changes))


def _topics(given: Iterable[str]) -> tuple[TopicOfInterest, ...]:
    managed = {each.value for each in ManagedTopic}
    pairs = [each.partition("=") for each in given if each]
    return tuple(
        TopicOfInterest(topic=ManagedTopic(name) if name in managed else name, description=description)
        for name, _, description in pairs
    )


def _prompts(current: Mapping[MemoryKind, str], given: Sequence[str]) -> dict[MemoryKind, str]:
    prompts = dict(current)
    for each in given:
        kind, equals, text = each.partition("=")
        if not equals or kind not in {known.value for known in MemoryKind}:
            raise Refusal(f"--prompt {each}: give KIND=TEXT, such as semantic=@facts.txt", status=MISUSE)
        prompts[MemoryKind(kind)] = Path(text[1:]).read_text("utf-8") if text.startswith("@") else text
    return {kind: text for kind, text in prompts.items() if text}
