"""`ricordo operations` on a running server."""

import json
from typing import Any
from uuid import uuid4

import pytest

from ricordo import Client
from ricordo.models import Scope
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.xdist_group("up")

ADA = Scope(user_id="ada")


@pytest.fixture
def operation_id(client: Client) -> str:
    handle = client.extraction.generate(facts=["I live in Rome."], scope=ADA, wait=False)
    return handle.operation_id


def answer(ricordo: Invoke, *arguments: str) -> Any:
    result = ricordo("operations", *arguments, "-o", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_an_operation_is_waited_for_with_what_it_made(ricordo: Invoke, operation_id: str) -> None:
    over = answer(ricordo, "wait", operation_id, "--timeout", "120")
    assert over["done"]
    [made] = over["generation"]["memories"]
    assert made["memory"]["content"] == "I live in Rome."


def test_operations_are_listed_by_user(ricordo: Invoke, operation_id: str) -> None:
    listed = answer(ricordo, "list", "--user", "ada")["operations"]
    assert operation_id in [each["operation_id"] for each in listed]
    assert answer(ricordo, "list", "--user", "nobody")["operations"] == []


def test_what_is_over_is_not_cancelled(ricordo: Invoke, operation_id: str) -> None:
    answer(ricordo, "wait", operation_id)
    assert answer(ricordo, "cancel", operation_id)["error"] is None


def test_a_line_says_whose_it_is_and_how_it_stands(ricordo: Invoke, operation_id: str) -> None:
    answer(ricordo, "wait", operation_id)
    told = ricordo("operations", "get", operation_id).stdout.split("  ")
    assert (told[0], told[2], told[-1].strip()) == (operation_id, "ada", "done")


def test_an_unknown_operation_is_refused(ricordo: Invoke) -> None:
    refused = ricordo("operations", "get", str(uuid4()))
    assert (refused.exit_code, refused.stderr.split(": ")[:2]) == (1, ["ricordo", "NOT_FOUND"])
