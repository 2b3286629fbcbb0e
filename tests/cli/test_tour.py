"""`make run` without a terminal and with one."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from google.protobuf import json_format
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ricordo.v1 import session_service_pb2, session_service_pb2_grpc
from tests.cli.programs import ENVIRONMENT, SECONDS

pytestmark = pytest.mark.xdist_group("tour")

TOUR = [sys.executable, "-m", "examples.tour", "--data-folder"]
# Its output is compared with what the real model finds.
WITH_MODEL = {name: value for name, value in ENVIRONMENT.items() if name != "RICORDO_EMBEDDING__PROVIDER"}


def test_without_a_terminal_it_ends_by_itself_and_can_be_repeated(tmp_path: Path) -> None:
    outputs = []
    for _ in range(2):
        ended = subprocess.run(
            [*TOUR, str(tmp_path / "data")],
            env=WITH_MODEL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert len(ended.stdout.splitlines()) <= 70
        outputs.append(" ".join(ended.stdout.split()))
    assert "(72 new, 0 known from an earlier run)" in outputs[0]
    assert "(0 new, 72 known from an earlier run)" in outputs[1]
    learned = [output.partition("3. Learned")[2].partition("4. Saved")[0] for output in outputs]
    assert learned[0] == learned[1]  # nothing is learned twice
    assert "the watermarks stand at 72 of 72 turns" in learned[0]
    assert re.search(r"semantic: .+ from user: .+ procedural: .+ from assistant: ", learned[0])
    for output in outputs:
        assert "15 typed memories" in output
        assert re.findall(r"(words|meaning|both) (✓|·)", output) == [
            ("words", "✓"), ("meaning", "·"), ("both", "✓"),
            ("words", "·"), ("meaning", "✓"), ("both", "✓"),
            ("words", "✓"), ("meaning", "✓"), ("both", "✓"),
        ]  # fmt: skip
        assert "allergic to hazelnuts" in output.partition("6. Built")[2]
        assert output.partition("7. One store")[2].count("The guesthouse Casa Faentina in Faenza") == 3
    assert not (tmp_path / "data/postgres/data/postmaster.pid").exists()


@contextmanager
def on_a_terminal(*command: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    terminal, its_end = pty.openpty()
    with subprocess.Popen(
        command,
        env=ENVIRONMENT | {"COLUMNS": "100"},
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        start_new_session=True,
    ) as process:
        os.close(its_end)
        try:
            yield process, terminal
        finally:
            process.kill()
            os.close(terminal)


def read_until(terminal: int, words: str) -> str:
    """What a person sees: without colours."""
    seen = b""
    deadline = time.monotonic() + SECONDS
    with suppress(OSError):  # the terminal's other end is closed
        while words not in plain(seen) and time.monotonic() < deadline:
            seen += os.read(terminal, 65536)
    assert words in plain(seen), plain(seen)
    return plain(seen)


def plain(seen: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", seen.decode(errors="ignore")).replace("\r", "")


def test_on_a_terminal_it_stays_and_says_how_to_call_it(tmp_path: Path) -> None:
    with on_a_terminal(*TOUR, str(tmp_path / "data")) as (process, terminal):
        seen = read_until(terminal, "\nEND\n")
        target = re.search(r"serves on (\S+);", seen)
        assert target is not None
        commands = re.split(r"^# .+\n", seen.partition("8. Your turn")[2], flags=re.MULTILINE)[1:]
        by_hand, grpcurl, python = (command.strip() for command in commands)
        assert len(paste(by_hand).splitlines()) >= 3
        assert "hazelnuts" in paste(python)
        call_as_grpcurl_does(grpcurl, target[1])
        process.send_signal(signal.SIGINT)
        read_until(terminal, "Everything is stopped")
        assert process.wait(SECONDS) == 0


def paste(command: str) -> str:
    ended = subprocess.run(
        ["bash", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def call_as_grpcurl_does(command: str, target: str) -> None:
    """It asks the server for the service, then sends the JSON as the message it names."""
    parts = re.fullmatch(
        r"grpcurl -plaintext -d '(.+)' (\S+) (ricordo\.v1\.SessionService)/SearchTurns", command
    )
    assert parts is not None
    assert parts[2] == target
    with grpc.insecure_channel(target) as channel:
        question = reflection_pb2.ServerReflectionRequest(file_containing_symbol=parts[3])
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        [answer] = stub.ServerReflectionInfo(iter([question]))
        assert answer.file_descriptor_response.file_descriptor_proto
        request = json_format.Parse(parts[1], session_service_pb2.SearchTurnsRequest())
        found = session_service_pb2_grpc.SessionServiceStub(channel).SearchTurns(request, timeout=30)
        assert len(found.hits) == 3
