"""`ricordo embeddings` against the server and worker of `ricordo up`."""

import json

import pytest

from ricordo import Client
from ricordo.models import NewMemory, Scope
from tests.cli.conftest import Invoke, Stack

pytestmark = pytest.mark.xdist_group("up")

OLD, NEW = "hashing-64", "hashing-16"


@pytest.fixture
def added(ricordo: Invoke, stack: Stack) -> str:
    arguments = ("--provider", "hashing", "--dimension", "16", "--data-folder", str(stack.folder))
    told = ok(ricordo, "add", *arguments)
    assert told == f"{NEW} is here, with vectors of 16 numbers. Next: ricordo embeddings prepare {NEW}\n"
    return NEW


def ok(ricordo: Invoke, *arguments: str) -> str:
    result = ricordo("embeddings", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(ricordo: Invoke, *arguments: str) -> tuple[int, str]:
    result = ricordo("embeddings", *arguments)
    return result.exit_code, result.stderr


def test_a_model_is_added_prepared_switched_to_and_the_old_one_dropped(
    ricordo: Invoke, client: Client, added: str
) -> None:
    memory = client.memories.create(
        NewMemory(kind="semantic", content="green tea", scope=Scope(user_id="ann"))
    )
    assert f"{NEW}  16 numbers  available" in ok(ricordo, "list")
    assert ok(ricordo, "prepare", NEW) == f"{NEW}  16 numbers  ready  1 of 1 rows\n"
    assert ok(ricordo, "switch", NEW) == f"{NEW}  16 numbers  active  1 of 1 rows\n"
    assert ok(ricordo, "drop", OLD) == f"{OLD}  64 numbers  available\n"
    assert client.memories.get(memory.memory_id).embedding_model == NEW
    states = {model["name"]: model["state"] for model in json.loads(ok(ricordo, "list", "--json"))}
    assert (states[OLD], states[NEW]) == ("available", "active")


def test_what_the_server_refuses_is_told(ricordo: Invoke, added: str) -> None:
    status, told = refused(ricordo, "switch", NEW)
    assert (status, "EMBEDDING_MODEL_NOT_READY" in told) == (1, True)
    status, told = refused(ricordo, "drop", OLD)
    assert (status, "EMBEDDING_MODEL_IN_USE" in told) == (1, True)
    status, told = refused(ricordo, "prepare", "nowhere")
    assert (status, NEW in told) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--provider", "openai", "--model", "m"], 2, "dimension"),
        (["--provider", "telepathy"], 2, "choose from local, openai, hashing"),
        (
            ["--provider", "openai", "--model", "m", "--dimension", "8", "--api-key", "sk-secret"],
            2,
            "env:NAME or file:PATH",
        ),
        (
            ["--provider", "openai", "--model", "m", "--dimension", "8", "--api-key", "env:NOT_SET_HERE"],
            1,
            "NOT_SET_HERE",
        ),
        (
            [
                "--provider",
                "openai",
                "--model",
                "m",
                "--dimension",
                "8",
                "--base-url",
                "http://127.0.0.1:1/v1",
            ],
            1,
            "the embedding provider failed",
        ),
        (["--provider", "hashing", "--dimension", "5000"], 1, "1 to 4000"),
        (["--provider", "hashing", "--model", "mine"], 2, "is hashing-64: leave out --model"),
    ],
)
def test_a_model_that_cannot_be_had_is_not_added(
    ricordo: Invoke, stack: Stack, arguments: list[str], status: int, told: str
) -> None:
    before = ok(ricordo, "list")
    found = refused(ricordo, "add", *arguments, "--data-folder", str(stack.folder))
    assert found[0] == status
    assert told in found[1]
    assert "sk-secret" not in found[1]
    assert ok(ricordo, "list") == before
