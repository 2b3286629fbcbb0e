"""The LoCoMo conversations and their questions, read from a file that stays outside this repository.

    python -m benchmarks.locomo [PATH] [--to-jsonl FOLDER]

The data are CC BY-NC 4.0, for measuring only. Several versions of the file circulate: print `Dataset.sha256`
beside every figure.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.metrics import ANSWERABLE

REPOSITORY = Path(__file__).resolve().parents[1]
DEFAULT_PATH = REPOSITORY.parent / "locomo10.json"

# In the raw file `speaker_a` and `session_12` stand beside `session_12_date_time`.
_SESSION_KEY = re.compile(r"session_(\d+)")
# An entry may hold several ids ("D8:6; D9:17"); the lookarounds refuse a part of a malformed one ("D1:1:26").
# A zero-padded id ("D30:05") stays as it is, so is dropped as unknown: published counts were made so.
_DIA_ID = re.compile(r"(?<![\w:])D\d+:\d+(?![\w:])")
_DATE_FORMAT = "%I:%M %p on %d %B, %Y"
_TURN_GAP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance; `time` is that of its session plus a minute for each turn before it."""

    dia_id: str
    session_no: int
    speaker: str
    text: str
    time: datetime

    @property
    def retrieval_text(self) -> str:
        """What is embedded and searched."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """Two people over many sessions, the turns in the order in which they were said."""

    sample_id: str
    speakers: tuple[str, str]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the turns that answer it; most of category 5 (adversarial) have no answer."""

    sample_id: str
    question: str
    answer: str
    evidence: tuple[str, ...]
    category: int


@dataclass(frozen=True, slots=True)
class Counts:
    """The size of a data set; `answerable` counts the usable questions of categories 1 to 4."""

    turns: int
    questions: int
    usable: int
    answerable: int


# What the version with the hash 79fa87e9... holds, and what our published figures were measured on.
EXPECTED = Counts(turns=5_882, questions=1_986, usable=1_981, answerable=1_535)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The conversations and usable questions of one file; `questions_read` counts the unusable ones too."""

    sha256: str
    conversations: tuple[Conversation, ...]
    questions: tuple[Question, ...]
    questions_read: int

    @property
    def counts(self) -> Counts:
        """The sizes, to be compared with `EXPECTED`."""
        return Counts(
            turns=sum(len(conversation.turns) for conversation in self.conversations),
            questions=self.questions_read,
            usable=len(self.questions),
            answerable=sum(question.category in ANSWERABLE for question in self.questions),
        )


def load(path: Path = DEFAULT_PATH) -> Dataset:
    """Read the file; questions without one piece of evidence in their conversation are left out."""
    raw = path.read_bytes()
    samples: list[dict[str, Any]] = json.loads(raw)
    conversations = tuple(_read_conversation(sample) for sample in samples)
    pairs = zip(samples, conversations, strict=True)
    return Dataset(
        sha256=hashlib.sha256(raw).hexdigest(),
        conversations=conversations,
        questions=tuple(found for sample, talk in pairs for found in _read_questions(sample["qa"], talk)),
        questions_read=sum(len(sample["qa"]) for sample in samples),
    )


def parse_session_time(text: str) -> datetime:
    """'1:56 pm on 8 May, 2023' as a time in UTC; the data name no zone."""
    return datetime.strptime(text, _DATE_FORMAT).replace(tzinfo=UTC)


def normalise_evidence(entries: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """The ids in `entries`, in order and without repeats, as far as the conversation knows them."""
    ids = (dia_id for entry in entries for dia_id in _DIA_ID.findall(entry))
    return tuple(dict.fromkeys(dia_id for dia_id in ids if dia_id in known))


def _read_conversation(sample: Mapping[str, Any]) -> Conversation:
    raw: Mapping[str, Any] = sample["conversation"]
    matches = (_SESSION_KEY.fullmatch(key) for key in raw)
    numbers = sorted(int(match[1]) for match in matches if match)
    return Conversation(
        sample_id=sample["sample_id"],
        speakers=(raw["speaker_a"], raw["speaker_b"]),
        turns=tuple(turn for number in numbers for turn in _read_session(raw, number)),
    )


def _read_session(raw: Mapping[str, Any], number: int) -> Iterator[Turn]:
    start = parse_session_time(raw[f"session_{number}_date_time"])
    for place, turn in enumerate(raw[f"session_{number}"]):
        yield Turn(turn["dia_id"], number, turn["speaker"], turn["text"], start + place * _TURN_GAP)


def _read_questions(raw: Iterable[Mapping[str, Any]], conversation: Conversation) -> Iterator[Question]:
    known = {turn.dia_id for turn in conversation.turns}
    for entry in raw:
        evidence = normalise_evidence(entry["evidence"], known)
        if evidence:
            # Some answers are numbers; an `adversarial_answer` is the wrong one, so it is not read.
            answer = str(entry.get("answer", ""))
            yield Question(conversation.sample_id, entry["question"], answer, evidence, entry["category"])


def turn_line(conversation: Conversation, turn: Turn) -> dict[str, object]:
    """A turn in the form that `ricordo import turns` reads."""
    return {
        "session_id": f"{conversation.sample_id}/session-{turn.session_no}",
        "user_id": conversation.sample_id,
        "role": "user" if turn.speaker == conversation.speakers[0] else "assistant",
        "content": turn.retrieval_text,
        "event_time": turn.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "metadata": {"dia_id": turn.dia_id},
        "idempotency_key": turn.dia_id,
    }


def question_line(question: Question) -> dict[str, object]:
    """A question for `questions.jsonl`; `user_id` says whose turns to search."""
    return {
        "user_id": question.sample_id,
        "question": question.question,
        "answer": question.answer,
        "evidence": list(question.evidence),
        "category": question.category,
    }


def write_jsonl(dataset: Dataset, folder: Path) -> list[Path]:
    """Write a file of turns for each conversation, then `questions.jsonl`; never inside the repository."""
    if folder.resolve().is_relative_to(REPOSITORY):
        raise ValueError(
            f"{folder} is inside the repository; LoCoMo's licence keeps its data outside: name another"
        )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for conversation in dataset.conversations:
        lines = [turn_line(conversation, turn) for turn in conversation.turns]
        written.append(_write_lines(folder / f"{conversation.sample_id}.jsonl", lines))
    questions = [question_line(question) for question in dataset.questions]
    return [*written, _write_lines(folder / "questions.jsonl", questions)]


def _write_lines(path: Path, lines: Iterable[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def report(dataset: Dataset) -> str:
    """The hash and the sizes, and whether they are those of the version our figures were measured on."""
    counts = dataset.counts
    verdict = "as expected" if counts == EXPECTED else f"NOT the expected {EXPECTED}"
    return (
        f"sha256 {dataset.sha256}\n"
        f"{len(dataset.conversations)} conversations, {counts.turns:,} turns\n"
        f"{counts.usable:,} usable questions of {counts.questions:,}, "
        f"{counts.answerable:,} in categories 1 to 4\n"
        f"{verdict}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Report on the file and, when asked, write it as JSON lines; exits 1 when its sizes are unexpected."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.locomo", description=main.__doc__)
    parser.add_argument("path", nargs="?", type=Path, default=DEFAULT_PATH, help="default: %(default)s")
    parser.add_argument(
        "--to-jsonl", type=Path, metavar="FOLDER", help="write the turns and the questions there"
    )
    options = parser.parse_args(arguments)
    if not options.path.is_file():
        parser.error(f"no file at {options.path}: give the path of locomo10.json")
    dataset = load(options.path)
    print(report(dataset))
    if options.to_jsonl:
        try:
            written = write_jsonl(dataset, options.to_jsonl)
        except ValueError as refusal:
            parser.error(str(refusal))
        print(f"{len(written)} files written to {options.to_jsonl}")
    return 0 if dataset.counts == EXPECTED else 1


if __name__ == "__main__":
    sys.exit(main())
