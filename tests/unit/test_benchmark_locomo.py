"""The LoCoMo reader, on a made-up file of the same shape."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.locomo import REPOSITORY, Dataset, load, normalise_evidence, parse_session_time, write_jsonl

SAMPLE = {
    "sample_id": "made-1",
    "conversation": {
        "speaker_a": "Nina",
        "speaker_b": "Otto",
        # A plain sort of the keys would put session 10 before session 2.
        "session_10_date_time": "12:05 am on 3 June, 2024",
        "session_10": [{"speaker": "Otto", "dia_id": "D10:1", "text": "The boat is called Ada."}],
        "session_2_date_time": "1:56 pm on 8 May, 2024",
        "session_2": [
            {"speaker": "Nina", "dia_id": "D2:1", "text": "I sold the piano."},
            {"speaker": "Otto", "dia_id": "D2:2", "text": "For how much?"},
        ],
        "session_11_date_time": "9:00 am on 4 June, 2024",
    },
    "qa": [
        {"question": "What was sold?", "answer": "piano", "evidence": ["D2:1; D10:1"], "category": 1},
        {"question": "How many boats?", "answer": 1, "evidence": ["D10:1"], "category": 4},
        {"question": "Who sold the boat?", "adversarial_answer": "Otto", "evidence": ["D2:1"], "category": 5},
        {"question": "Nothing to go by?", "answer": "no", "evidence": [], "category": 3},
        {"question": "Unknown turn?", "answer": "no", "evidence": ["D9:9"], "category": 3},
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "made.json"
    file.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    return file


@pytest.fixture
def dataset(path: Path) -> Dataset:
    return load(path)


KNOWN = {"D1:1", "D1:2", "D2:1", "D11:26"}


@pytest.mark.parametrize(
    ("entries", "ids"),
    [
        (["D1:1"], ("D1:1",)),
        (["D1:1; D2:1"], ("D1:1", "D2:1")),
        (["D2:1 D1:1 D1:2"], ("D2:1", "D1:1", "D1:2")),
        (["D1:2,D1:1"], ("D1:2", "D1:1")),
        (["D1:1", "D1:1"], ("D1:1",)),
        (["D", "D1:2"], ("D1:2",)),
        (["D:11:26"], ()),
        (["D1:1:2"], ()),
        (["D7:7"], ()),
        ([], ()),
    ],
)
def test_evidence_is_split_and_what_is_malformed_or_unknown_is_dropped(
    entries: list[str], ids: tuple[str, ...]
) -> None:
    assert normalise_evidence(entries, KNOWN) == ids


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        ("12:30 pm on 1 January, 2024", datetime(2024, 1, 1, 12, 30, tzinfo=UTC)),
    ],
)
def test_session_times_are_read_as_utc(text: str, time: datetime) -> None:
    assert parse_session_time(text) == time


def test_turns_come_in_the_order_of_the_session_numbers(dataset: Dataset) -> None:
    assert [turn.dia_id for turn in dataset.conversations[0].turns] == ["D2:1", "D2:2", "D10:1"]


def test_turns_of_a_session_are_a_minute_apart(dataset: Dataset) -> None:
    assert dataset.conversations[0].turns[1].time == datetime(2024, 5, 8, 13, 57, tzinfo=UTC)


def test_questions_without_evidence_are_left_out(dataset: Dataset) -> None:
    assert [question.category for question in dataset.questions] == [1, 4, 5]


def test_left_out_questions_are_counted_as_read(dataset: Dataset) -> None:
    assert dataset.questions_read == 5


def test_answers_are_text_and_a_wrong_answer_is_never_one(dataset: Dataset) -> None:
    assert [question.answer for question in dataset.questions] == ["piano", "1", ""]


def test_the_hash_is_that_of_the_file(dataset: Dataset, path: Path) -> None:
    assert dataset.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_turn_is_written_in_the_form_of_an_import(dataset: Dataset, tmp_path: Path) -> None:
    write_jsonl(dataset, tmp_path / "out")
    lines = (tmp_path / "out" / "made-1.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[1]) == {
        "session_id": "made-1/session-2",
        "user_id": "made-1",
        "role": "assistant",
        "content": "Otto: For how much?",
        "event_time": "2024-05-08T13:57:00Z",
        "metadata": {"dia_id": "D2:2"},
        "idempotency_key": "D2:2",
    }


def test_one_file_for_each_conversation_and_one_of_questions(dataset: Dataset, tmp_path: Path) -> None:
    written = write_jsonl(dataset, tmp_path / "out")
    assert [file.name for file in written] == ["made-1.jsonl", "questions.jsonl"]


def test_nothing_is_written_inside_the_repository(dataset: Dataset) -> None:
    with pytest.raises(ValueError, match="inside the repository"):
        write_jsonl(dataset, REPOSITORY / "examples")
