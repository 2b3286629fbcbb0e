import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo_server import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers = []
    stream = io.StringIO()
    logs.log_to(stream)
    yield stream
    logging.captureWarnings(False)
    root.handlers, root.level = before, level


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_record_is_a_line_with_its_extras(stream: io.StringIO) -> None:
    logging.getLogger("ricordo.test").info("two\nlines %s", 5, extra={"port": 1, "path": Path("é")})
    [line] = lines(stream)
    assert line.pop("time").endswith("+00:00")
    expected = {"level": "INFO", "logger": "ricordo.test", "message": "two\nlines 5", "port": 1, "path": "é"}
    assert line == expected


def test_an_error_is_told_without_the_values_it_quotes(stream: io.StringIO) -> None:
    try:
        try:
            dict[str, str]()["what ada said"]
        except KeyError as error:
            raise ValueError("ada said so") from error
    except ValueError:
        logging.getLogger("ricordo.test").exception("failed")
    [line] = lines(stream)
    assert [error["type"] for error in line["exception"]] == ["builtins.ValueError", "builtins.KeyError"]
    assert "test_logs.py" in line["exception"][0]["frames"][0]
    assert "ada said" not in stream.getvalue()


def test_libraries_are_heard_from_warnings_on(stream: io.StringIO) -> None:
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("some.library").warning("trouble")
    assert [line["message"] for line in lines(stream)] == ["trouble"]


def test_a_large_log_moves_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", 10)
    path = tmp_path / "ricordo.log"
    path.write_text("x" * 11)
    logs.move_large_log(path)
    assert not path.exists()
    assert (tmp_path / "ricordo.log.1").read_text() == "x" * 11
    with logs.open_log(path) as log:
        log.write("new\n")
    assert path.read_text() == "new\n"
