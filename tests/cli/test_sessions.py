"""`ricordo sessions` on a running server."""

import json
from typing import Any

import pytest

from ricordo import Client
from ricordo._sync.session_stores import SessionStore
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.xdist_group("up")
SAID = {"role": "user", "content": "I live in Rome."}


@pytest.fixture
def store(client: Client) -> SessionStore:
    return client.session_stores.create("chats")


def run(ricordo: Invoke, *arguments: str, stdin: str | None = None) -> Any:
    result = ricordo("sessions", *arguments, "--store", "chats", "-o", "json", stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refusal(ricordo: Invoke, *arguments: str) -> Any:
    result = ricordo("sessions", *arguments, "--store", "chats", "-o", "json")
    assert (result.exit_code != 0, result.stdout) == (True, "")
    return json.loads(result.stderr)["error"]


def test_a_session_is_begun_shown_changed_and_deleted(ricordo: Invoke, store: SessionStore) -> None:
    made = run(
        ricordo, "create", "--actor-id", "ada", "--session-id", "one", "--metadata", '{"channel": "mail"}'
    )
    assert (made["session_id"], made["actor_id"], made["metadata"]) == ("one", "ada", {"channel": "mail"})
    assert run(ricordo, "get", "one") == made
    listed = run(ricordo, "list", "--filter", 'metadata.channel = "mail"')
    assert listed == {"sessions": [made], "next_page_token": ""}
    assert run(ricordo, "update", "one", "--metadata", '{"n": 1}')["metadata"] == {"n": 1}
    assert run(ricordo, "delete", "one", "--yes") == {"deleted": "one"}
    assert refusal(ricordo, "get", "one")["code"] == "NOT_FOUND"


def test_items_are_appended_listed_popped_and_cleared(ricordo: Invoke, store: SessionStore) -> None:
    store.add(actor_id="ada", session_id="one")
    run(ricordo, "items", "append", "one", "--data", json.dumps(SAID), "--data", "5")
    run(ricordo, "items", "append", "one", "--file", "-", stdin='[{"a": 1}]')
    listed = run(ricordo, "items", "list", "one")["items"]
    assert [each["data"] for each in listed] == [SAID, 5, {"a": 1}]
    assert run(ricordo, "items", "pop", "one")["items"] == [listed[-1]]
    copied = run(ricordo, "fork", "one", "--session-id", "two", "--up-to-item-id", listed[0]["item_id"])
    assert copied["parent_session_id"] == "one"
    assert [each["data"] for each in run(ricordo, "items", "list", "two")["items"]] == [SAID]
    assert run(ricordo, "items", "clear", "one", "-y") == {"cleared": "one"}
    assert run(ricordo, "items", "list", "one")["items"] == []


def test_what_was_said_is_distilled_into_entries(
    ricordo: Invoke, client: Client, store: SessionStore
) -> None:
    store.add(actor_id="ada", session_id="one").append_items([SAID])
    asked = ("extract", "one", "--memory-store", "chats")
    assert [each["entry_id"] for each in run(ricordo, *asked, "--dry-run")["entries"]] == [""]
    [made] = run(ricordo, *asked)["entries"]
    assert (made["path"], made["content"]) == ("/user-personal-info.md", "I live in Rome.")
    [entry] = client.memory_stores.get("chats").list(actor_id="ada")
    assert entry.entry_id == made["entry_id"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "--actor-id", "ada", "--metadata", "x"), "--metadata is no JSON"),
        (("items", "append", "one", "--data", "{"), "--data is no JSON"),
        (("items", "append", "one"), "at least one item"),
    ],
)
def test_what_is_no_json_is_said(
    ricordo: Invoke, store: SessionStore, arguments: tuple[str, ...], told: str
) -> None:
    store.add(actor_id="ada", session_id="one")
    assert told in refusal(ricordo, *arguments)["message"]
