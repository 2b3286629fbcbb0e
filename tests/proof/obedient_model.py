"""A model that obeys turns: it repeats each as a fact, invents others' data, and deletes all that it is shown."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ricordo_server.config import Settings
from ricordo_server.extraction import Endpoint, ExtractionSettings
from tests.fixtures.fake_chat import FakeChat, Reply, fact, items

OTHERS = {"user_id": "bob", "scope": {"user_id": "bob"}, "store_id": "default", "project_id": "another"}

# Fields of what is asked for where it is no fact: of that it says nothing.
OTHER_KINDS = ('"participants"', '"steps"', '"related_terms"')


def obey(request: dict[str, Any]) -> Reply:
    lines = [
        json.loads(line) for line in request["messages"][1]["content"].splitlines() if line.startswith("{")
    ]
    if "candidate" in lines[0]:
        return _delete_all(lines)
    asked_for = request["messages"][0]["content"]
    return items() if any(field in asked_for for field in OTHER_KINDS) else _repeat(lines)


def _delete_all(lines: list[dict[str, Any]]) -> Reply:
    verdicts = [
        {"candidate": each["candidate"], "action": action, "known": known["known"]}
        for each in lines
        for known in each["known_facts"]
        for action in ("UPDATE", "DELETE")
    ]
    return items(*verdicts)


def _repeat(lines: list[dict[str, Any]]) -> Reply:
    turns = [line for line in lines if line["turn"] != "context"]
    facts = [fact(turn["text"], turn["turn"], turn["text"]) for turn in turns]
    named = [{**each, name: value} for each in facts for name, value in OTHERS.items()]
    invented = [fact("Bob's secret is 4711.", turn["turn"], "Bob's secret is 4711.") for turn in turns]
    return items(*named, *invented, *facts)


@contextmanager
def obedient_model() -> Iterator[FakeChat]:
    with FakeChat() as fake:
        fake.answer = obey
        yield fake


def reading_with(settings: Settings, fake: FakeChat) -> Settings:
    endpoints = {"obedient": Endpoint(base_url=fake.base_url, model="m")}
    return settings.model_copy(update={"extraction": ExtractionSettings(endpoints, default="obedient")})
