import json
from pathlib import Path
from typing import Any

import pytest

from ricordo import Client
from ricordo.models import Turn
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.xdist_group("up")


def write_lines(path: Path, *lines: dict[str, Any] | str | bytes) -> Path:
    encoded = [
        line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    path.write_bytes(b"".join(line + b"\n" for line in encoded))
    return path


def turn_line(number: int, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "user_id": "ada",
        "role": "user",
        "content": f"turn {number}",
        **fields,
    }


def recorded(client: Client) -> list[Turn]:
    return sorted(client.sessions.list_turns(), key=lambda turn: (turn.scope.session_id, turn.turn_seq))


def contents(client: Client) -> list[str]:
    return [turn.content for turn in recorded(client)]


def test_every_field_arrives(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    line = turn_line(
        1,
        agent_id="guide",
        event_time="2026-01-02T03:04:05+02:00",
        metadata={"n": 1, "deep": {"list": [1.5, None, True]}},
        idempotency_key="own-key",
    )
    result = ricordo("import", "turns", str(write_lines(tmp_path / "t.jsonl", line)))
    assert result.exit_code == 0, result.stderr
    [turn] = recorded(client)
    assert (turn.scope.user_id, turn.scope.session_id, turn.role, turn.content) == (
        "ada",
        "s1",
        "user",
        "turn 1",
    )
    assert (turn.agent_id, turn.idempotency_key) == ("guide", "own-key")
    assert turn.event_time is not None
    assert turn.event_time.isoformat() == "2026-01-02T01:04:05+00:00"
    assert turn.metadata == {"n": 1, "deep": {"list": [1.5, None, True]}}


def test_the_shipped_conversation_keeps_its_order(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "conversation.jsonl"
    file.write_bytes(Path("examples/conversation.jsonl").read_bytes())
    assert "72 turns recorded" in ricordo("import", "turns", str(file)).stdout
    written = [json.loads(line) for line in file.read_text().splitlines()]
    by_session = sorted(written, key=lambda row: str(row["session_id"]))  # stable: the order within stays
    assert contents(client) == [row["content"] for row in by_session]


def test_a_rerun_sends_nothing_and_records_nothing(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", *map(turn_line, range(3)))
    ricordo("import", "turns", str(file))
    again = ricordo("import", "turns", str(file))
    assert "0 turns recorded, 0 known already, continued after line 3" in again.stdout
    assert len(recorded(client)) == 3


def test_without_the_position_a_rerun_finds_every_turn_known(
    ricordo: Invoke, client: Client, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "t.jsonl", turn_line(1), turn_line(1), turn_line(2))
    ricordo("import", "turns", str(file))
    (tmp_path / "t.jsonl.position").unlink()
    again = ricordo("import", "turns", str(file))
    assert "0 turns recorded, 3 known already" in again.stdout
    assert contents(client) == ["turn 1", "turn 1", "turn 2"]


def test_lines_appended_later_are_all_that_a_rerun_records(
    ricordo: Invoke, client: Client, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "t.jsonl", turn_line(1))
    ricordo("import", "turns", str(file))
    write_lines(file, turn_line(1), turn_line(2))
    assert (
        "1 turns recorded, 0 known already, continued after line 1"
        in ricordo("import", "turns", str(file)).stdout
    )


def test_a_position_of_another_file_or_project_is_not_believed(
    ricordo: Invoke, client: Client, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "t.jsonl", turn_line(1), turn_line(2))
    ricordo("import", "turns", str(file))
    write_lines(file, turn_line(3), turn_line(4), turn_line(5))
    assert "3 turns recorded" in ricordo("import", "turns", str(file)).stdout
    position = json.loads((tmp_path / "t.jsonl.position").read_text())
    (tmp_path / "t.jsonl.position").write_text(json.dumps(position | {"target": "elsewhere"}))
    assert "3 known already" in ricordo("import", "turns", str(file)).stdout


def test_a_broken_position_file_means_the_start(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", turn_line(1))
    (tmp_path / "t.jsonl.position").write_text("{")
    assert "1 turns recorded" in ricordo("import", "turns", str(file)).stdout


def test_an_import_goes_on_where_it_stopped(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    lines: list[dict[str, Any] | str | bytes] = [turn_line(number) for number in range(250)]
    file = write_lines(tmp_path / "t.jsonl", *lines[:230], "{bad", *lines[230:])
    stopped = ricordo("import", "turns", str(file))
    assert stopped.exit_code == 1
    assert "line 231: not JSON" in stopped.stderr
    assert "230 turns recorded" in stopped.stderr
    write_lines(file, *lines)
    result = ricordo("import", "turns", str(file))
    assert "20 turns recorded, 0 known already, continued after line 230" in result.stdout
    assert contents(client) == [f"turn {number}" for number in range(250)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[]", "not a JSON object"),
        (b'"\xff"', "not UTF-8"),
        ({"role": "user", "content": "x", "user_id": "ada"}, "session_id is missing"),
        ({"session_id": "s", "content": "x"}, "role is missing"),
        (turn_line(2, contnet="x"), "unknown field contnet"),
        (turn_line(2, event_time="2026-01-02T03:04:05"), "event_time is no ISO 8601 time with a zone"),
        (turn_line(2, event_time=5), "event_time is no ISO 8601 time with a zone"),
        (turn_line(2, content=5), "content: Input should be a valid string"),
        (turn_line(2, metadata=[]), "metadata: Input should be a valid dictionary"),
        (turn_line(2, content="nul \0"), "CONTENT"),
        (turn_line(2, metadata={"n": 2**70}), "beyond 64 bits"),
        (turn_line(2, role="r" * 65), "role"),
        (turn_line(2, content=""), "content"),
        (turn_line(2, content="x" * 300_000), "content"),
    ],
)
def test_a_bad_line_is_named_and_the_others_can_go_on(
    ricordo: Invoke, client: Client, tmp_path: Path, line: dict[str, Any] | str | bytes, reason: str
) -> None:
    file = write_lines(tmp_path / "t.jsonl", turn_line(1), line, turn_line(3))
    stopped = ricordo("import", "turns", str(file))
    assert stopped.exit_code == 1
    assert f"{file}, line 2: " in stopped.stderr
    assert reason.lower() in stopped.stderr.lower()
    assert "1 turns recorded" in stopped.stderr
    assert contents(client) == ["turn 1"]
    skipped = ricordo("import", "turns", str(file), "--skip-bad")
    assert skipped.exit_code == 0, skipped.stderr
    assert "1 bad lines skipped" in skipped.stdout
    assert contents(client) == ["turn 1", "turn 3"]


def test_the_default_user_is_for_lines_without_one(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    anonymous = {"session_id": "s", "role": "user", "content": "hello"}
    file = write_lines(tmp_path / "t.jsonl", anonymous, turn_line(2))
    result = ricordo("import", "turns", str(file), "--user", "bob")
    assert result.exit_code == 0, result.stderr
    assert {(turn.scope.user_id, turn.content) for turn in recorded(client)} == {
        ("bob", "hello"),
        ("ada", "turn 2"),
    }


def test_a_store_that_is_missing_stops_at_once(ricordo: Invoke, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", turn_line(1))
    result = ricordo("import", "turns", str(file), "--store", "nowhere", "--skip-bad")
    assert result.exit_code == 1
    assert "STORE_NOT_FOUND" in result.stderr


def test_the_summary_as_json(ricordo: Invoke, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", turn_line(1), "")
    result = ricordo("import", "turns", str(file), "--json", "--position", str(tmp_path / "elsewhere"))
    assert json.loads(result.stdout) == {"recorded": 1, "known": 0, "skipped": 0, "resumed_after": 0}
    assert (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "t.jsonl.position").exists()


def test_a_file_that_is_missing_is_a_misuse(ricordo: Invoke) -> None:
    assert ricordo("import", "turns", "/nowhere.jsonl").exit_code == 2
