"""Imports a file of turns: each batch is acknowledged, then the position is written, so that a rerun goes on there.

The position saves time only. What makes a rerun harmless is the idempotency key that every turn has.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import ricordo
from ricordo_server.cli.turn_file import BadLineError, Line, TurnLine, batches, parse_line, read_lines

LONGEST_CALL = 120.0
"""Seconds: a hundred long turns on a slow embedder."""


@dataclass(frozen=True)
class Position:
    """How far a file is imported into a store: the lines before `offset`, of which the last has this digest."""

    target: str
    number: int = 0
    offset: int = 0
    last_line: str = ""


@dataclass
class Summary:
    """What an import did."""

    recorded: int = 0
    known: int = 0
    skipped: int = 0
    resumed_after: int = 0


@dataclass
class TurnImport:
    """One import of one file."""

    client: ricordo.Client
    path: Path
    position_path: Path
    store: str | None
    default_user: str
    skip_bad: bool
    on_skip: Callable[[BadLineError], None]
    on_progress: Callable[[int], None]
    summary: Summary = field(default_factory=Summary)
    _bad_line: BadLineError | None = None

    def run(self) -> None:
        """
        Raises:
            BadLineError: at the first bad line, unless they are skipped; what precedes it is recorded.
        """
        position = self._load_position()
        self.summary.resumed_after = position.number
        self._target = position.target
        self.on_progress(position.offset)
        lines = read_lines(self.path, offset=position.offset, number=position.number)
        for batch in batches(self._parse(lines)):
            self._record(batch)
            self._save_position(batch[-1].line)
        if self._bad_line:
            raise self._bad_line

    def _parse(self, lines: Iterator[Line]) -> Iterator[TurnLine]:
        """Ends at a bad line that may not be skipped, so that the batch before it is still recorded."""
        for line in lines:
            if not line.raw.strip():
                continue
            try:
                yield parse_line(line, self.default_user)
            except BadLineError as error:
                if not self.skip_bad:
                    self._bad_line = error
                    return
                self._skip(error)

    def _record(self, batch: list[TurnLine]) -> None:
        """All or nothing; a batch that is refused goes out line by line, which finds the line at fault."""
        try:
            self._send(batch)
        except (ricordo.errors.MemoryClientError, ricordo.errors.MemoryBadRequestError) as error:
            if not _is_about_a_line(error):
                raise
            if len(batch) > 1:
                for turn in batch:
                    self._record([turn])
                    self._save_position(turn.line)
                return
            bad_line = BadLineError(batch[0].line.number, str(error))
            if not self.skip_bad:
                raise bad_line from error
            self._skip(bad_line)

    def _send(self, batch: list[TurnLine]) -> None:
        recorded = self.client.sessions.batch_record_turns(
            [line.turn for line in batch], scope=batch[0].scope, store=self.store, timeout=LONGEST_CALL
        )
        created = sum(turn.created for turn in recorded)
        self.summary.recorded += created
        self.summary.known += len(batch) - created

    def _skip(self, error: BadLineError) -> None:
        self.summary.skipped += 1
        self.on_skip(error)

    def _load_position(self) -> Position:
        """From the start where the file, the project or the store is another than that of the position."""
        target = f"{self.client.identity.who_am_i().project_id}/{self.store or ''}/{self.default_user}"
        with suppress(OSError, ValueError, TypeError):
            position = Position(**json.loads(self.position_path.read_text()))
            if position.target == target and self._last_line_before(position.offset) == position.last_line:
                return position
        return Position(target)

    def _last_line_before(self, offset: int) -> str:
        with self.path.open("rb") as file:
            # A line may be long; the digest of its last bytes tells files apart just as well.
            file.seek(max(0, offset - 4096))
            return hashlib.sha256(file.read(min(offset, 4096))).hexdigest()

    def _save_position(self, line: Line) -> None:
        position = Position(self._target, line.number, line.end, self._last_line_before(line.end))
        draft = self.position_path.with_name(self.position_path.name + ".new")
        draft.write_text(json.dumps(asdict(position)) + "\n")
        draft.replace(self.position_path)
        self.on_progress(line.end)


def _is_about_a_line(error: Exception) -> bool:
    return isinstance(error, ricordo.errors.MemoryClientError) or (
        isinstance(error, ricordo.errors.MemoryBadRequestError) and error.code == "INVALID_ARGUMENT"
    )
