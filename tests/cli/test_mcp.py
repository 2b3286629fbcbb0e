"""`ricordo mcp` as a program: how a host starts it, and what it says when it cannot run."""

import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from mcp import Client as Host
from mcp import StdioServerParameters

from ricordo import Client
from ricordo.commands import model_context
from tests.cli.conftest import Stack
from tests.cli.programs import ENVIRONMENT, SECONDS, run, started

pytestmark = pytest.mark.xdist_group("up")

PROGRAM = ("-m", "ricordo", "mcp")


@pytest.fixture
def settings(stack: Stack, client: Client) -> dict[str, str]:
    """The environment that a host gives the program: where, as whom, and whose memory."""
    token = f"development:{client.project.get().project_id}"
    return {"RICORDO_TARGET": stack.target, "RICORDO_TOKEN": token, "RICORDO_USER_ID": "ada"}


def program_of(settings: Mapping[str, str], *options: str) -> StdioServerParameters:
    """How a host starts it."""
    return StdioServerParameters(
        command=sys.executable, args=[*PROGRAM, *options], env={**ENVIRONMENT, **settings}
    )


async def test_a_host_lists_writes_and_reads_over_stdio(settings: Mapping[str, str]) -> None:
    async with Host(program_of(settings, "--session-id", "s1")) as host:
        tools = {tool.name for tool in (await host.list_tools()).tools}
        turn = {"role": "user", "content": "I like plums."}
        recorded = await host.call_tool("record_turn", turn)
        built = await host.call_tool("build_context", {"query": "plums"})
        found = await host.call_tool("search_memories", {"query": "plums"})
        refused = await host.call_tool("search_memories", {"query": "plums", "limit": 0})
    assert tools == {"record_turn", "build_context", "search_memories"}
    assert recorded.structured_content == {"session_id": "s1", "turn_seq": 1}
    assert "I like plums." in built.structured_content["context"]
    assert found.structured_content["memories"] == []
    assert refused.is_error


async def test_without_a_session_each_start_has_a_new_one_whatever_the_protocols_age(
    settings: Mapping[str, str],
) -> None:
    sessions = set()
    for mode in ("auto", "legacy"):
        async with Host(program_of(settings), mode=mode) as host:
            result = await host.call_tool("record_turn", {"role": "user", "content": "Hello."})
            sessions.add(result.structured_content["session_id"])
    assert len(sessions) == 2


def test_an_interrupt_ends_it_while_it_waits_for_its_host() -> None:
    command = [sys.executable, *PROGRAM, "--user-id", "ada"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=ENVIRONMENT, stdin=pipe, stdout=pipe) as program:
        assert program.stdin
        assert program.stdout
        program.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        program.stdin.flush()
        assert program.stdout.readline()
        program.send_signal(signal.SIGINT)
        assert program.wait(SECONDS) == -signal.SIGINT


async def test_http_serves_the_same_to_this_machine_alone(
    tmp_path: Path, settings: Mapping[str, str]
) -> None:
    with started(tmp_path, "--http", "0", program=PROGRAM, PYTHONUNBUFFERED="1", **settings) as program:
        url = program.wait_for(r"ready on (http://127\.0\.0\.1:\d+/mcp)\.")[1]
        async with Host(url) as host:
            recorded = await host.call_tool("record_turn", {"role": "user", "content": "I like plums."})
        async with httpx.AsyncClient() as browser:
            rebound = await browser.post(url, json={}, headers={"Host": "memory.example"})
            foreign = await browser.post(url, json={}, headers={"Origin": "https://pages.example"})
    assert recorded.structured_content["turn_seq"] == 1
    assert (rebound.status_code, foreign.status_code) == (421, 403)


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = run("mcp", "--http", port, RICORDO_USER_ID="ada")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr == f"ricordo: port {port}: Address already in use; choose another with --http\n"


@pytest.mark.parametrize("environment", [{}, {"RICORDO_USER_ID": " "}])
def test_without_a_user_it_says_how_to_name_one(environment: dict[str, str]) -> None:
    ran = run("mcp", **environment)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "--user-id" in ran.stderr


def test_half_a_service_account_is_a_misuse() -> None:
    ran = run("mcp", RICORDO_USER_ID="ada", RICORDO_CLIENT_ID="half")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("ricordo: client_id")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_context, "find_spec", {"mcp": None}.get)
    ran = run("mcp", RICORDO_USER_ID="ada")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == "ricordo: `ricordo mcp` needs an extra. Install it: pip install 'ricordo[mcp]'\n"
