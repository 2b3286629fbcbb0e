"""The log, set up in one place: each record is one line of JSON with its extras, and nobody's content."""

import json
import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

# What every record has; all else came in as `extra`.
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# `up` runs for months on a laptop: at start a file beyond this moves aside, and replaces the one before it.
MAX_FILE_BYTES = 10 * 1024 * 1024


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = _describe(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)


def _describe(error: BaseException) -> list[dict[str, object]]:
    """The error and its causes, without their messages: Postgres and Python quote the values they stumble over."""
    described: list[dict[str, object]] = []
    current: BaseException | None = error
    while current is not None and len(described) < 10:
        kind = type(current)
        described.append(
            {
                "type": f"{kind.__module__}.{kind.__qualname__}",
                "sqlstate": getattr(current, "sqlstate", None),
                "frames": [
                    f"{frame.filename}:{frame.lineno} {frame.name}"
                    for frame in traceback.extract_tb(current.__traceback__)
                ],
            }
        )
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return described


def log_to(stream: TextIO) -> None:
    """Sends the log to a stream: our own records from INFO on, those of libraries from WARNING on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("ricordo").setLevel(logging.INFO)
    logging.captureWarnings(True)


def open_log(path: Path) -> TextIO:
    """The file, to be appended to; readable by its owner only, as everything in a data folder."""
    path.touch(mode=0o600)
    return path.open("a", encoding="utf-8", buffering=1)


def move_large_log(path: Path) -> None:
    """Moves a large file aside, in place of the one moved before."""
    if path.exists() and path.stat().st_size > MAX_FILE_BYTES:
        path.replace(path.with_name(path.name + ".1"))
