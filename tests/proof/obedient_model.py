"""A model that obeys turns: it repeats each as a fact, invents others' data, and deletes all that it is shown."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.fixtures.fake_chat import FakeChat, Reply, fact, items

OTHERS = {"user_id": "bob", "scope": {"user_id": "bob"}, "store_id": "default", "project_id": "another"}

# Fields of what is asked for where it is no fact: of that it says nothing.
OTHER_KINDS = ('"participants"', '"steps"', '"related_terms"')


def obey(request: dict[str, Any]) -> Reply:
    lines = _lines_of(request)
    if "candidate" in lines[0]:
        return _delete_all(lines)
    asked_for = request["messages"][0]["content"]
    return items() if any(field in asked_for for field in OTHER_KINDS) else _repeat(lines)


def repeat(request: dict[str, Any]) -> Reply:
    """An honest one: every turn is a fact, and none says anything of another."""
    lines = _lines_of(request)
    return items() if "candidate" in lines[0] else items(*_facts(lines))


def _lines_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    said = request["messages"][1]["content"].splitlines()
    return [json.loads(line) for line in said if line.startswith("{")]


def _facts(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    turns = [line for line in lines if line["turn"] != "context"]
    return [fact(turn["text"], turn["turn"], turn["text"]) for turn in turns]


def _delete_all(lines: list[dict[str, Any]]) -> Reply:
    verdicts = [
        {"candidate": each["candidate"], "action": action, "known": known["known"]}
        for each in lines
        for known in each["known_facts"]
        for action in ("UPDATE", "DELETE")
    ]
    return items(*verdicts)


def _repeat(lines: list[dict[str, Any]]) -> Reply:
    facts = _facts(lines)
    named = [{**each, name: value} for each in facts for name, value in OTHERS.items()]
    secret = "Bob's secret is 4711."
    invented = [{**each, **fact(secret, each["quotes"][0]["turn"], secret)} for each in facts]
    return items(*named, *invented, *facts)


@contextmanager
def obedient_model() -> Iterator[FakeChat]:
    with FakeChat() as fake:
        fake.answer = obey
        yield fake
