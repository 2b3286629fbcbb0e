"""The command `ricordo` as a program of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner, Result

from ricordo_server.cli import app

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_")} | {
    "RICORDO_EMBEDDING__PROVIDER": "hashing"
}
# Only a failing test waits this long; a machine under load needs half a minute for a start.
SECONDS = 240


@dataclass(frozen=True)
class Program:
    """A running program whose output goes to files."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def output(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def errors(self) -> str:
        return (self.folder / "stderr").read_text()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match in its output."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if found := re.search(pattern, self.output):
                return found
            assert self.process.poll() is None, self.errors
            time.sleep(0.05)
        raise AssertionError(f"no {pattern} in {self.output!r}; {self.errors}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


@contextmanager
def started(
    folder: Path, *arguments: str, program: Sequence[str] = ("-m", "ricordo_server"), **environment: str
) -> Iterator[Program]:
    """Starts it in a folder for its output; kills it when the block is left, if it still runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder / "stdout").open("wb") as output,
        (folder / "stderr").open("wb") as errors,
        subprocess.Popen(
            [sys.executable, *program, *arguments],
            env={**ENVIRONMENT, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        ) as process,
    ):
        try:
            yield Program(process, folder)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(SECONDS)


def run(*arguments: str, input: str = "", **environment: str) -> Result:  # noqa: A002 - as CliRunner names it
    """Runs a command in this process: for those that do not serve."""
    cleared = {name: None for name in os.environ if name.startswith("RICORDO_")}
    provider = {"RICORDO_EMBEDDING__PROVIDER": "hashing"}
    return CliRunner().invoke(app, arguments, env={**cleared, **provider, **environment}, input=input)


def run_program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs it as a program of its own, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "ricordo_server", *arguments],
        env={**ENVIRONMENT, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def environment_of(settings: Mapping[str, object]) -> dict[str, str]:
    return {f"RICORDO_{name.upper()}": str(value) for name, value in settings.items()}
