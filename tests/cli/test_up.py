import json
import re
import signal
import stat
from pathlib import Path

import pytest

from ricordo import Client
from ricordo.models import NewMemory, Scope
from tests.cli.conftest import READY, Stack
from tests.cli.programs import run, run_program, started


def test_ctrl_c_stops_all_and_the_next_start_finds_the_data(tmp_path: Path) -> None:
    arguments = ("up", "--port", "0", "--data-folder", str(tmp_path / "data"))
    with started(tmp_path / "first", *arguments) as program:
        ready = program.wait_for(READY)
        with Client(ready[1]) as client:
            client.memories.put(NewMemory(key="k", content="kept", scope=Scope(user_id="ada")))
        assert program.stop(signal.SIGINT) == 0
        assert program.output.count("\n") == 1
        assert program.errors == ""
    assert not (tmp_path / "data/postgres/data/postmaster.pid").exists()
    with started(tmp_path / "second", *arguments) as program:
        again = program.wait_for(READY)
        assert again[2] == ready[2]
        with Client(again[1]) as client:
            assert client.memories.get_by_key("k", kind="semantic").content == "kept"
        assert program.stop(signal.SIGTERM) == 0


@pytest.mark.xdist_group("up")
def test_secrets_and_log_are_for_the_owner_only(stack: Stack) -> None:
    assert stat.S_IMODE(stack.folder.stat().st_mode) == 0o700
    for name in ("installation.json", "ricordo.log"):
        assert stat.S_IMODE((stack.folder / name).stat().st_mode) == 0o600


@pytest.mark.xdist_group("up")
def test_the_log_in_the_folder_is_json_without_content(stack: Stack, client: Client) -> None:
    client.memories.create(NewMemory(content="a secret plan", scope=Scope(user_id="confidential-user")))
    text = (stack.folder / "ricordo.log").read_text()
    calls = [line for line in map(json.loads, text.splitlines()) if line["logger"] == "ricordo.access"]
    assert calls[-1]["method"] == "/ricordo.v1.MemoryService/CreateMemory"
    assert calls[-1]["code"] == "OK"
    assert "secret plan" not in text
    assert "confidential-user" not in text


@pytest.mark.xdist_group("up")
def test_a_second_server_on_the_port_is_refused(stack: Stack) -> None:
    port = stack.target.partition(":")[2]
    second = run_program("up", "--port", port, "--data-folder", str(stack.folder))
    assert second.returncode == 1
    assert re.fullmatch(
        rf"ricordo: cannot take port {port} of 127.0.0.1 .*another program has it.*\n", second.stderr
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "[::]"])
def test_up_serves_this_machine_only(host: str, tmp_path: Path) -> None:
    refused = run("up", "--host", host, "--data-folder", str(tmp_path / "data"))
    assert refused.exit_code == 2
    assert "it is for this machine alone" in refused.stderr
    assert not (tmp_path / "data").exists()


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    refused = run("up", "--data-folder", str(tmp_path / "data"), RICORDO_POOL_SIZE="many")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("ricordo: pool_size: ")
