"""A file of turns, a JSON object a line: read from any position on, in batches of one session."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import ricordo

SESSION_FIELDS = {"session_id", "user_id"}
TURN_FIELDS = {"role", "content", "agent_id", "event_time", "metadata", "idempotency_key"}
# An answer is acknowledged before the next batch goes out, so a batch is also what an interruption costs; and
# a request may have 8 MiB.
MAX_BATCH_LINES, MAX_BATCH_BYTES = 100, 2 * 1024 * 1024


class BadLineError(Exception):
    """A line is no turn."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"line {number}: {reason}")
        self.number = number


@dataclass(frozen=True)
class Line:
    """A line of the file; `end` is the offset of the byte after it."""

    number: int
    raw: bytes
    end: int


@dataclass(frozen=True)
class TurnLine:
    """A line that is a turn, and the session it belongs to."""

    line: Line
    scope: ricordo.models.Scope
    turn: ricordo.models.NewTurn


def read_lines(path: Path, *, offset: int, number: int) -> Iterator[Line]:
    """The lines after the first `number`, which end at `offset`."""
    with path.open("rb") as file:
        file.seek(offset)
        for raw in file:
            number, offset = number + 1, offset + len(raw)
            yield Line(number, raw, offset)


def parse_line(line: Line, default_user: str) -> TurnLine:
    """
    Raises:
        BadLineError: the line is no turn; it says why, without the content.
    """
    fields = _parse_object(line)
    if unknown := fields.keys() - SESSION_FIELDS - TURN_FIELDS:
        raise BadLineError(line.number, f"unknown field {', '.join(sorted(unknown))}")
    scope = {"user_id": default_user, **{name: fields.pop(name) for name in SESSION_FIELDS & fields.keys()}}
    if not scope.get("session_id"):
        raise BadLineError(line.number, "session_id is missing")
    if not fields.get("role"):
        raise BadLineError(line.number, "role is missing")
    fields.setdefault("content", "")
    fields["idempotency_key"] = fields.get("idempotency_key") or _make_key(line.number, scope | fields)
    try:
        fields["event_time"] = _parse_time(fields.get("event_time"))
        return TurnLine(line, ricordo.models.Scope(**scope), ricordo.models.NewTurn(**fields))
    except ricordo.errors.MemoryClientError as error:
        raise BadLineError(line.number, str(error)) from error
    except ValueError as error:
        raise BadLineError(line.number, "event_time is no ISO 8601 time with a zone") from error


def _parse_object(line: Line) -> dict[str, Any]:
    try:
        parsed = json.loads(line.raw)
    except UnicodeDecodeError as error:
        raise BadLineError(line.number, "not UTF-8") from error
    except (ValueError, RecursionError) as error:
        where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadLineError(line.number, f"not JSON{where}") from error
    if not isinstance(parsed, dict):
        raise BadLineError(line.number, "not a JSON object")
    return {name: value for name, value in parsed.items() if value is not None}


def _parse_time(text: object) -> datetime | None:
    if text is None:
        return None
    time = datetime.fromisoformat(text) if isinstance(text, str) else None
    if time is None or time.tzinfo is None:
        raise ValueError
    return time


def _make_key(number: int, fields: dict[str, Any]) -> str:
    """The same for the same line at the same place, so that recording it again is recognized."""
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return "import-" + hashlib.sha256(f"{number}:{canonical}".encode()).hexdigest()


def batches(turns: Iterable[TurnLine]) -> Iterator[list[TurnLine]]:
    """Consecutive lines of one session, within the bounds of a request."""
    batch: list[TurnLine] = []
    size = 0
    for turn in turns:
        size += len(turn.line.raw)
        if batch and (
            turn.scope != batch[0].scope or len(batch) == MAX_BATCH_LINES or size > MAX_BATCH_BYTES
        ):
            yield batch
            batch, size = [], len(turn.line.raw)
        batch.append(turn)
    if batch:
        yield batch
