"""`ricordo pipelines` on a running server, whose worker does the runs."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ricordo import Client
from ricordo.models import NewTurn, Scope
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.xdist_group("up")
# Only a failing test waits this long.
PATIENCE_SECONDS = 120


@pytest.fixture
def talks(client: Client) -> str:
    client.stores.create("talks")
    client.stores.create("notes")
    turn = NewTurn(role="user", content="I live in Rome.")
    client.sessions.record_turn(turn, scope=Scope(user_id="ada", session_id="s"), store="talks")
    return "talks"


def answer(ricordo: Invoke, *arguments: str) -> Any:
    result = ricordo("pipelines", *arguments, "-o", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def make(ricordo: Invoke, *options: str) -> dict[str, Any]:
    made: dict[str, Any] = answer(
        ricordo, "create", "--session-store", "talks", "--memory-store", "notes", *options
    )
    return made


def test_a_pipeline_is_made_shown_changed_and_deleted(ricordo: Invoke, talks: str, tmp_path: Path) -> None:
    told = tmp_path / "instructions.txt"
    told.write_text("Be short.", encoding="utf-8")
    made = make(ricordo, "--name", "Notes", "--trigger", "scheduled", "--instructions", f"@{told}")
    assert (made["instructions"], made["trigger"], made["enabled"]) == ("Be short.", "scheduled", True)
    named = (made["pipeline_id"], "--session-store", talks)
    assert answer(ricordo, "update", *named, "--every", "2")["period"] == "PT2H"
    assert answer(ricordo, "update", *named, "--endpoint", "builtin")["endpoint"] == "builtin"
    assert answer(ricordo, "pause", *named)["next_run_time"] is None
    assert answer(ricordo, "resume", *named)["enabled"]
    assert answer(ricordo, "get", *named)["display_name"] == "Notes"
    [listed] = answer(ricordo, "list", "--session-store", talks)["pipelines"]
    assert listed["pipeline_id"] == made["pipeline_id"]
    assert answer(ricordo, "delete", *named, "--yes") == {"deleted": made["pipeline_id"]}
    assert answer(ricordo, "list", "--session-store", talks)["pipelines"] == []


def test_a_run_is_begun_and_told(ricordo: Invoke, client: Client, talks: str) -> None:
    named = (make(ricordo)["pipeline_id"], "--session-store", talks)
    begun = answer(ricordo, "run", *named)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (run := answer(ricordo, "runs", "list", *named)["runs"][0])["end_time"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert (run["run_id"], run["state"], run["actors"]) == (begun["run_id"], "succeeded", 1)
    assert answer(ricordo, "runs", "get", run["run_id"], "--session-store", talks) == run
    store = client.memory_stores.get("notes")
    [entry] = store.list(actor_id="ada")
    assert (entry.content, entry.source_type) == ("I live in Rome.", "dreamer")


def test_a_second_pipeline_between_two_stores_is_refused(ricordo: Invoke, talks: str) -> None:
    make(ricordo)
    result = ricordo("pipelines", "create", "--session-store", talks, "--memory-store", "notes", "-o", "json")
    assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, "ALREADY_EXISTS")
