import json
import socket

import pytest
from typer.testing import CliRunner

from ricordo import Client
from ricordo.models import NewMemory, NewTurn, ProceduralDetails, Scope, Visibility
from ricordo_server.cli import app
from tests.cli.conftest import Invoke, Stack

pytestmark = pytest.mark.xdist_group("up")


@pytest.fixture(autouse=True)
def filled(client: Client) -> None:
    """Two memories of ada, one of them shared, one of bob, and two sessions."""
    for user, content, visibility in (
        ("ada", "Ada drinks green tea.", Visibility.PRIVATE),
        ("ada", "The tea shop opens at nine.", Visibility.ORG),
        ("bob", "Bob drinks black tea.", Visibility.PRIVATE),
    ):
        memory = NewMemory(
            content=content, title=content.split()[0], visibility=visibility, scope=Scope(user_id=user)
        )
        client.memories.create(memory.model_copy(update={"metadata": {"user": user}}))
    for session in ("s1", "s2"):
        turn = NewTurn(role="user", content=f"Tea in {session}, please.")
        client.sessions.record_turn(turn, scope=Scope(user_id="ada", session_id=session))


def test_hits_as_json_hold_content_score_ids_and_metadata(ricordo: Invoke) -> None:
    result = ricordo("search", "green tea", "--json", "--top-k", "1")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    [hit] = answer["hits"]
    assert hit["content"] == "Ada drinks green tea."
    assert hit["metadata"] == {"user": "ada"}
    assert hit["scope"]["user_id"] == "ada"
    assert len(hit["memory_id"]) == 36
    assert hit["score"] > 0
    assert answer["effective_mode"] == "hybrid"


def test_hits_as_text(ricordo: Invoke) -> None:
    lines = ricordo("search", "green tea", "--top-k", "1").stdout.splitlines()
    assert "semantic  Ada  ada" in lines[0]
    assert [line.strip() for line in lines[1:]] == ["Ada drinks green tea.", "user=ada"]


def test_a_user_reads_what_is_own_or_shared(ricordo: Invoke) -> None:
    hits = json.loads(ricordo("search", "tea", "--user", "bob", "--json").stdout)["hits"]
    assert {hit["content"] for hit in hits} == {"The tea shop opens at nine.", "Bob drinks black tea."}


def test_turns_of_a_session(ricordo: Invoke) -> None:
    hits = json.loads(ricordo("search", "tea", "--turns", "--session", "s2", "--json").stdout)["hits"]
    assert [(hit["content"], hit["turn_seq"], hit["role"]) for hit in hits] == [
        ("Tea in s2, please.", 1, "user")
    ]


@pytest.mark.parametrize(("mode", "unit"), [("text", "words: rank 1"), ("semantic", "meaning: rank 1")])
def test_explain_names_the_legs(ricordo: Invoke, mode: str, unit: str) -> None:
    result = ricordo("search", "green tea", "--mode", mode, "--explain")
    assert unit in result.stdout
    hits = json.loads(ricordo("search", "green tea", "--mode", mode, "--explain", "--json").stdout)["hits"]
    assert hits[0]["legs"][f"{mode}_rank"] == 1


def test_steps_of_a_procedure_are_shown(ricordo: Invoke, client: Client) -> None:
    steps = ProceduralDetails(steps=("Boil the water.", "Wait."))
    client.memories.create(
        NewMemory(
            kind="procedural", key="brew", content="How to brew.", details=steps, scope=Scope(user_id="ada")
        )
    )
    assert "2. Wait." in ricordo("search", "brew", "--mode", "text").stdout


def test_an_escape_sequence_does_not_reach_the_terminal(ricordo: Invoke, client: Client) -> None:
    client.memories.create(NewMemory(content="evil \x1b[2J\x9b31m text", scope=Scope(user_id="ada")))
    shown = ricordo("search", "evil", "--mode", "text").stdout
    assert "evil �[2J�31m text" in shown


def test_nothing_found(ricordo: Invoke) -> None:
    result = ricordo("search", "xylophone", "--mode", "text")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Nothing found.\n")


def test_a_context_goes_to_stdout_and_how_it_was_made_to_stderr(ricordo: Invoke) -> None:
    result = ricordo(
        "context", "What does Ada drink?", "--user", "ada", "--source", "semantic", "--source", "stm"
    )
    assert result.exit_code == 0, result.stderr
    assert "Ada drinks green tea." in result.stdout
    assert "tokens" not in result.stdout
    assert "tokens" in result.stderr


def test_a_context_as_json(ricordo: Invoke) -> None:
    result = ricordo("context", "What does Ada drink?", "--user", "ada", "--format", "openai", "--json")
    answer = json.loads(result.stdout)
    assert answer["messages"][0]["role"] == "system"
    assert answer["token_count"] > 0
    assert {chunk["content"] for chunk in answer["chunks"]} >= {"Ada drinks green tea."}
    assert all(chunk["memory_id"] and chunk["score"] > 0 for chunk in answer["chunks"])


def test_the_servers_reason_is_one_line(ricordo: Invoke) -> None:
    result = ricordo("search", "tea", "--store", "nowhere")
    assert result.exit_code == 1
    assert result.stderr.startswith("ricordo: STORE_NOT_FOUND: ")


def test_an_unknown_credential_is_said(stack: Stack) -> None:
    result = CliRunner().invoke(app, ["search", "tea", "--target", stack.target, "--token", "wrong"])
    assert result.exit_code == 1
    assert "UNAUTHENTICATED" in result.stderr


def test_without_a_server_it_says_how_to_start_one() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{unused.getsockname()[1]}"
        result = CliRunner().invoke(app, ["search", "tea", "--target", target])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"ricordo: no server answers at {target}: start one with `ricordo up`")


@pytest.mark.parametrize(
    "arguments",
    [["search"], ["search", "tea", "--mode", "magic"], ["search", "tea", "--top-k", "0"], ["nonsense"]],
)
def test_misuse_is_status_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2
