"""`ricordo entries sync`: a folder of Markdown files and the entries of an actor."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from ricordo import Client
from ricordo._sync.memory_stores import MemoryStore
from ricordo.commands.folder.files import Folder
from ricordo.commands.folder.plan import Action, Step
from ricordo.commands.folder.sync import FolderSync
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.xdist_group("up")


@pytest.fixture
def store(client: Client) -> MemoryStore:
    return client.memory_stores.create("notes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    (made / "food").mkdir(parents=True)
    return made


class Sync:
    """Syncs the folder, and says what was done."""

    def __init__(self, ricordo: Invoke, folder: Path) -> None:
        self._ricordo = ricordo
        self._folder = folder

    def run(self, *options: str, actor: str = "ada") -> Result:
        return self._ricordo(
            "entries", "sync", str(self._folder), "--store", "notes", "--actor-id", actor, *options
        )

    def steps(self, *options: str) -> dict[str, str]:
        result = self.run(*options, "-o", "json")
        assert result.exit_code in (0, 1), result.stderr
        return {step["path"]: step["action"] for step in json.loads(result.stdout)["steps"]}


@pytest.fixture
def sync(ricordo: Invoke, folder: Path) -> Sync:
    return Sync(ricordo, folder)


def entries(store: MemoryStore) -> dict[str, Any]:
    return {entry.path: entry for entry in store.list(actor_id="ada")}


def test_files_become_entries_and_entries_files(sync: Sync, folder: Path, store: MemoryStore) -> None:
    (folder / "food" / "tea.md").write_text("---\ndescription: drinks\n---\nGreen tea.\n")
    (folder / "picture.png").write_bytes(b"\xff")
    store.add(actor_id="ada", path="/sport.md", content="Bicycle.", description="sport")
    store.add(actor_id="bob", path="/secret.md", content="Bob's.")
    assert sync.steps() == {"/food/tea.md": "push", "/sport.md": "pull"}
    tea = entries(store)["/food/tea.md"]
    assert (tea.content, tea.description) == ("Green tea.\n", "drinks")
    assert (folder / "sport.md").read_text() == '---\ndescription: "sport"\n---\nBicycle.'
    assert sync.steps() == {}
    assert sorted(each.name for each in folder.iterdir()) == [
        ".ricordo-sync.json",
        "food",
        "picture.png",
        "sport.md",
    ]


def test_changes_go_both_ways(sync: Sync, folder: Path, store: MemoryStore) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text("one")
    sync.run()
    (folder / "a.md").write_text("two")
    entries(store)["/b.md"].update(content="two", description="second")
    assert sync.steps() == {"/a.md": "push", "/b.md": "pull"}
    assert entries(store)["/a.md"].content == "two"
    assert (folder / "b.md").read_text() == '---\ndescription: "second"\n---\ntwo'


def test_deletions_go_both_ways_once_they_are_confirmed(sync: Sync, folder: Path, store: MemoryStore) -> None:
    for name in ("a", "food/b"):
        (folder / f"{name}.md").write_text("one")
    sync.run()
    (folder / "a.md").unlink()
    entries(store)["/food/b.md"].delete()
    asked = sync.run()
    assert (asked.exit_code, "delete the entry  /a.md" in asked.stderr) == (1, True)
    assert sync.steps("--yes") == {"/a.md": "delete-entry", "/food/b.md": "delete-file"}
    assert entries(store) == {}
    assert not (folder / "food").exists()


def test_what_both_sides_changed_is_left_alone_and_named(
    sync: Sync, folder: Path, store: MemoryStore
) -> None:
    (folder / "a.md").write_text("one")
    sync.run()
    (folder / "a.md").write_text("file")
    entries(store)["/a.md"].update(content="entry")
    refused = sync.run()
    assert (refused.exit_code, "conflict  /a.md" in refused.stdout) == (1, True)
    assert ((folder / "a.md").read_text(), entries(store)["/a.md"].content) == ("file", "entry")
    assert sync.steps("--prefer", "store") == {"/a.md": "pull"}
    assert (folder / "a.md").read_text() == "entry"


def test_a_new_file_and_another_new_entry_are_a_conflict_that_may_be_settled(
    sync: Sync, folder: Path, store: MemoryStore
) -> None:
    (folder / "a.md").write_text("file")
    store.add(actor_id="ada", path="/a.md", content="entry")
    assert sync.steps() == {"/a.md": "conflict"}
    assert sync.steps("--prefer", "files") == {"/a.md": "push"}
    assert entries(store)["/a.md"].content == "file"


def test_a_dry_run_changes_nothing(sync: Sync, folder: Path, store: MemoryStore) -> None:
    (folder / "a.md").write_text("file")
    store.add(actor_id="ada", path="/b.md", content="entry")
    told = sync.run("--dry-run")
    assert (told.stdout, told.stderr) == ("push  /a.md\npull  /b.md\n", "Would be done: 1 push, 1 pull\n")
    assert (list(entries(store)), (folder / "b.md").exists()) == (["/b.md"], False)
    assert not (folder / ".ricordo-sync.json").exists()


def test_a_prefix_bounds_what_is_synced(sync: Sync, folder: Path, store: MemoryStore) -> None:
    (folder / "a.md").write_text("file")
    store.add(actor_id="ada", path="/work/b.md", content="entry")
    store.add(actor_id="ada", path="/workshop.md", content="entry")
    assert sync.steps("--prefix", "/work/") == {"/work/a.md": "push", "/work/b.md": "pull"}
    assert (folder / "b.md").read_text() == "entry"


def test_entries_of_sessions_are_others(sync: Sync, folder: Path, store: MemoryStore) -> None:
    store.add(actor_id="ada", path="/a.md", content="of the session", session_id="s1")
    (folder / "a.md").write_text("of none")
    assert sync.steps() == {"/a.md": "push"}
    assert sorted(str(entry.content) for entry in store.list(actor_id="ada")) == ["of none", "of the session"]


@pytest.mark.parametrize("path", ["/.git/hooks/x.md", "/notes", "/link/x.md", "/a\\b.md"])
def test_no_entry_leads_out_of_the_folder(
    sync: Sync, folder: Path, store: MemoryStore, tmp_path: Path, path: str
) -> None:
    """Paths are written by agents: what is no plain file below the folder is left out, and named."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    store.add(actor_id="ada", path=path, content="x")
    told = sync.run()
    assert (told.exit_code, f"left out  {path}" in told.stdout) == (0, True)
    assert list(outside.iterdir()) == []
    assert list(folder.rglob("x*")) == []


def test_a_file_that_is_no_text_is_left_out(sync: Sync, folder: Path, store: MemoryStore) -> None:
    (folder / "a.md").write_bytes(b"\xff")
    assert "left out  /a.md  the file is no UTF-8 text" in sync.run().stdout
    assert entries(store) == {}


def test_what_the_server_refuses_is_named_and_the_rest_goes_on(
    sync: Sync, folder: Path, store: MemoryStore
) -> None:
    (folder / "a.md").write_text("x" * 300_000)
    (folder / "b.md").write_text("small")
    assert sync.steps() == {"/a.md": "conflict", "/b.md": "push"}


def test_a_folder_goes_with_one_actor(sync: Sync, folder: Path, store: MemoryStore) -> None:
    (folder / "a.md").write_text("Ada's")
    sync.run()
    refused = sync.run(actor="bob")
    assert (refused.exit_code, "goes with the entries of ada" in refused.stderr) == (2, True)


def test_a_damaged_state_is_said(sync: Sync, folder: Path, store: MemoryStore) -> None:
    (folder / ".ricordo-sync.json").write_text("{")
    refused = sync.run()
    assert (refused.exit_code, "is damaged: remove it" in refused.stderr) == (2, True)


def planned(store: MemoryStore, folder: Path) -> tuple[FolderSync, list[Step]]:
    run = FolderSync(store=store, folder=Folder(folder), actor_id="ada", session_id="", digests={})
    return run, run.plan(None)


def test_an_entry_that_changes_meanwhile_is_not_written_over(folder: Path, store: MemoryStore) -> None:
    (folder / "a.md").write_text("one")
    first, steps = planned(store, folder)
    first.apply(steps)
    (folder / "a.md").write_text("two")
    run = FolderSync(store, Folder(folder), "ada", "", digests=first.digests)
    steps = run.plan(None)
    entries(store)["/a.md"].update(content="meanwhile")
    [refused] = run.apply(steps)
    assert (refused.action, "REVISION_MISMATCH" in refused.reason) == (Action.CONFLICT, True)
    assert entries(store)["/a.md"].content == "meanwhile"


def test_a_file_that_changes_meanwhile_is_not_written_over(folder: Path, store: MemoryStore) -> None:
    store.add(actor_id="ada", path="/a.md", content="entry")
    run, steps = planned(store, folder)
    (folder / "a.md").write_text("meanwhile")
    [refused] = run.apply(steps)
    assert (refused.action, "sync again" in refused.reason) == (Action.CONFLICT, True)
    assert (folder / "a.md").read_text() == "meanwhile"
