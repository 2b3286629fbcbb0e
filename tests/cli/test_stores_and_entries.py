"""`ricordo stores` and `ricordo entries` on a running server."""

import json
from pathlib import Path
from typing import Any

import pytest

from ricordo import Client
from ricordo._sync.memory_stores import MemoryStore
from ricordo.commands.output import Format, failures_told
from tests.cli.conftest import Invoke
from tests.cli.programs import run

pytestmark = pytest.mark.xdist_group("up")
STYLE = "/preferences/style.md"


@pytest.fixture
def store(client: Client) -> MemoryStore:
    return client.memory_stores.create("assistant-memory", description="What it knows")


def ok(ricordo: Invoke, *arguments: str) -> str:
    result = ricordo(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def answer(ricordo: Invoke, *arguments: str) -> Any:
    return json.loads(ok(ricordo, *arguments, "-o", "json"))


def refusal(ricordo: Invoke, *arguments: str) -> dict[str, str]:
    result = ricordo(*arguments, "-o", "json")
    assert (result.exit_code != 0, result.stdout) == (True, "")
    error: dict[str, str] = json.loads(result.stderr)["error"]
    assert set(error) == {"message", "code", "hint"}
    return error


def test_a_store_is_created_shown_changed_and_deleted(ricordo: Invoke, client: Client) -> None:
    created = answer(ricordo, "stores", "create", "notes", "--description", "Mine")
    assert (created["store_id"], created["name"], created["access"]) == (
        "notes",
        "memory-stores/notes",
        "restricted",
    )
    assert ok(ricordo, "stores", "get", "memory-stores/notes").startswith("notes  restricted  Mine\n")
    ok(ricordo, "stores", "update", "notes", "--description", "Yours")
    assert client.memory_stores.get("notes").description == "Yours"
    assert ok(ricordo, "stores", "delete", "notes", "--yes") == "Deleted: notes\n"
    assert [store.id for store in client.memory_stores.list()] == ["default"]


def test_a_store_is_not_deleted_unasked(ricordo: Invoke, client: Client, store: MemoryStore) -> None:
    assert ricordo("stores", "delete", store.id).exit_code == 1
    assert client.memory_stores.get(store.id).id == store.id


def test_stores_are_listed_by_page_and_by_name(ricordo: Invoke, store: MemoryStore) -> None:
    first = answer(ricordo, "stores", "list", "--page-size", "1")
    assert [each["store_id"] for each in first["stores"]] == [store.id]
    rest = answer(ricordo, "stores", "list", "--page-token", first["next_page_token"])
    assert ([each["store_id"] for each in rest["stores"]], rest["next_page_token"]) == (["default"], "")
    named = answer(ricordo, "stores", "list", "--name", "ASSIST")
    assert [each["store_id"] for each in named["stores"]] == [store.id]
    assert ok(ricordo, "stores", "list", "--all").splitlines()[0] == (
        "assistant-memory  restricted  What it knows"
    )


def test_a_store_is_granted_and_taken_back(ricordo: Invoke, client: Client, store: MemoryStore) -> None:
    account = client.identity.create_service_account("reader", role="reader").service_account.client_id
    ok(ricordo, "stores", "grant", store.id, account, "--permission", "READ")
    [grant] = answer(ricordo, "stores", "grants", store.id)["grants"]
    assert (grant["principal_id"], grant["access"]) == (account, "read")
    ok(ricordo, "stores", "revoke", store.name, account)
    assert ok(ricordo, "stores", "grants", store.id) == ""


def test_a_failure_is_json_where_that_is_asked_for(ricordo: Invoke, store: MemoryStore) -> None:
    taken = refusal(ricordo, "stores", "create", store.id)
    assert (taken["code"], store.id in taken["message"]) == ("ALREADY_EXISTS", True)
    bad = refusal(ricordo, "stores", "create", "Not-An-Id")
    assert (bad["code"], "store_id: " in bad["hint"]) == ("INVALID_ARGUMENT", True)
    nothing = refusal(ricordo, "stores", "update", store.id)
    assert (nothing["code"], "nothing is" in nothing["message"]) == ("INVALID_FIELD", True)


def test_a_failure_is_a_line_for_people(ricordo: Invoke) -> None:
    result = ricordo("stores", "get", "nowhere")
    assert (result.exit_code, result.stderr.startswith("ricordo: NOT_FOUND: ")) == (1, True)


def test_no_server_is_said_with_what_to_do() -> None:
    result = run("stores", "list", "-o", "json", RICORDO_TARGET="127.0.0.1:1", RICORDO_TOKEN="x")
    error = json.loads(result.stderr)["error"]
    assert (error["code"], "ricordo up" in error["hint"]) == ("UNAVAILABLE", True)


def test_an_entry_is_created_read_changed_and_deleted(
    ricordo: Invoke, store: MemoryStore, tmp_path: Path
) -> None:
    file = tmp_path / "style.md"
    file.write_bytes(b"Prefers short answers.\r\n")
    where = ("--store", store.id)
    created = answer(
        ricordo,
        "entries",
        "create",
        *where,
        "--actor-id",
        "ada",
        "--path",
        STYLE,
        "--content-file",
        str(file),
    )
    assert created["content"] == "Prefers short answers.\r\n"
    changed = answer(ricordo, "entries", "update", created["name"], "--description", "how to answer")
    assert (changed["description"], changed["revision"]) == ("how to answer", 2)
    shown = ricordo("entries", "get", created["entry_id"], *where)
    assert (shown.stdout_bytes, "how to answer" in shown.stderr) == (b"Prefers short answers.\r\n", True)
    ok(ricordo, "entries", "delete", created["name"], "-y")
    assert refusal(ricordo, "entries", "get", created["name"])["code"] == "NOT_FOUND"


def test_content_comes_from_one_place(ricordo: Invoke, store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "binary.md"
    file.write_bytes(b"\xff")
    new = ("entries", "create", "--store", store.id, "--actor-id", "ada", "--path", STYLE)
    assert "--content-file" in refusal(ricordo, *new)["message"]
    assert "not both" in refusal(ricordo, *new, "--content", "x", "--content-file", str(file))["message"]
    assert "no UTF-8" in refusal(ricordo, *new, "--content-file", str(file))["message"]


def test_content_comes_from_stdin(ricordo: Invoke, store: MemoryStore) -> None:
    new = (
        "entries",
        "create",
        "--store",
        store.id,
        "--actor-id",
        "ada",
        "--path",
        STYLE,
        "--content-file",
        "-",
    )
    assert ricordo(*new, stdin="From a pipe.\n").exit_code == 0
    [entry] = store.list(actor_id="ada")
    assert entry.content == "From a pipe.\n"


def test_a_file_that_is_not_there_is_said(ricordo: Invoke, store: MemoryStore) -> None:
    new = ("entries", "create", "--store", store.id, "--actor-id", "ada", "--path", STYLE)
    assert "cannot be read" in refusal(ricordo, *new, "--content-file", "/nowhere.md")["message"]


def test_entries_are_listed_by_page(ricordo: Invoke, store: MemoryStore) -> None:
    for number in range(11):
        store.add(actor_id="ada", path=f"/notes/{number:02}.md", content="x", description="a\nnote")
    listing = ("entries", "list", "--store", store.id, "--actor-id", "ada")
    page = ricordo(*listing)
    assert (len(page.stdout.splitlines()), "--page-token" in page.stderr) == (10, True)
    assert page.stdout.splitlines()[0].startswith("/notes/00.md  ")
    assert page.stdout.splitlines()[0].endswith("  a note")
    every = answer(ricordo, *listing, "--all")["entries"]
    assert [each["path"] for each in every][-1] == "/notes/10.md"
    assert every[0]["content"] == "x"
    one = answer(ricordo, *listing, "--path", "/notes/03.md")["entries"]
    assert [each["path"] for each in one] == ["/notes/03.md"]


def test_entries_are_found(ricordo: Invoke, store: MemoryStore) -> None:
    store.add(actor_id="ada", path=STYLE, content="Prefers \x1b[31mshort answers.")
    store.add(actor_id="bob", path=STYLE, content="Prefers long answers.")
    searching = ("entries", "search", "--store", store.id, "--actor-id", "ada", "--query", "answers")
    [hit] = answer(ricordo, *searching)["results"]
    assert (hit["entry"]["path"], hit["score"] > 0) == (STYLE, True)
    assert "\x1b" not in ok(ricordo, *searching)


def test_an_entry_is_pinned_and_moved(ricordo: Invoke, store: MemoryStore) -> None:
    added = store.add(actor_id="ada", path=STYLE, content="x")
    assert answer(ricordo, "entries", "update", added.name, "--pinned")["pinned"] is True
    assert answer(ricordo, "entries", "update", added.name, "--not-pinned")["pinned"] is False
    moved = answer(ricordo, "entries", "move", added.name, "/style.md")
    assert (moved["path"], moved["entry_id"]) == ("/style.md", added.entry_id)
    store.add(actor_id="ada", path=STYLE, content="y")
    assert refusal(ricordo, "entries", "move", added.name, STYLE)["code"] == "ALREADY_EXISTS"


def test_a_prefix_is_counted_before_it_is_deleted(ricordo: Invoke, store: MemoryStore) -> None:
    for path in ("/notes/a.md", "/notes/b.md", "/notebook.md"):
        store.add(actor_id="ada", path=path, content="x")
    deleting = ("entries", "delete-prefix", "/notes/", "--store", store.id, "--actor-id", "ada")
    assert ok(ricordo, *deleting, "--dry-run") == "Would be deleted: 2\n"
    asked = ricordo(*deleting)
    assert (asked.exit_code, "Delete 2 entries" in asked.stderr) == (1, True)
    assert ok(ricordo, *deleting, "-y") == "Deleted: 2\n"
    assert [entry.path for entry in store.list(actor_id="ada")] == ["/notebook.md"]


def test_an_answer_that_nobody_reads_to_its_end_is_no_failure() -> None:
    with pytest.raises(BrokenPipeError), failures_told(Format.TEXT):
        raise BrokenPipeError
