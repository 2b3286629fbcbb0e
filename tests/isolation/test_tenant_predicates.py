"""Beside the policies each statement names its tenant itself: looked for in every statement that the RPCs run."""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio
from sqlalchemy import true

from ricordo_server.db import connection as connection_module
from ricordo_server.db import embeddings, memories, revisions, search, sessions, stores, turns
from ricordo_server.db.tables import PROJECT_TABLES, STORE_TABLES
from tests.fixtures.database import TestDatabase
from tests.isolation.rpc_world import Place, absent, ask, fill, make_place, service
from tests.isolation.test_every_rpc import CASES, channel

__all__ = ["channel"]  # the fixture

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWN = [rpc for rpc in CASES if not rpc.startswith(("Admin", "Identity"))]
NAMED = re.compile(r"\bricordo\.(\w+)\b(?!\s*\()")
PROJECT, STORE = (re.compile(rf"\b{column} = %\(") for column in ("project_id", "store_id"))
# A subselect of constants, or columns of the tenant first in the list that is inserted.
INSERTED = re.compile(r"INSERT INTO ricordo\.\w+ \(project_id(, store_id)?")


def lacks(text: str) -> list[str]:
    """Which columns of its tenant a statement does not name."""
    tables = set(NAMED.findall(text))
    missing = []
    if tables & {*PROJECT_TABLES, *STORE_TABLES} and not (PROJECT.search(text) or INSERTED.search(text)):
        missing.append("project_id")
    if tables & set(STORE_TABLES) and not (STORE.search(text) or INSERTED.search(text)):
        missing.append("store_id")
    return missing


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The text of each that runs."""
    seen: set[str] = set()
    compile_statement = connection_module._compile
    run = connection_module.Connection.execute

    def compiled(statement: Any) -> tuple[str, Mapping[str, Any]]:
        text, parameters = compile_statement(statement)
        seen.add(text)
        return text, parameters

    async def executed(self: Any, statement: Any, parameters: Any = None) -> Any:
        if isinstance(statement, str):
            seen.add(statement)
        return await run(self, statement, parameters)

    monkeypatch.setattr(connection_module, "_compile", compiled)
    monkeypatch.setattr(connection_module.Connection, "execute", executed)
    return seen


@pytest_asyncio.fixture(loop_scope="module")
async def here(channel: grpc.aio.Channel, database: TestDatabase) -> Place:
    return await fill(channel, make_place(database))


async def run(channel: grpc.aio.Channel, rpc: str, here: Place) -> None:
    for names in (here.names, absent(here.names)):
        for request in CASES[rpc](names):
            await ask(channel, rpc, request, service(here), names)


@pytest.mark.parametrize("rpc", OWN)
async def test_every_statement_names_its_tenant(
    channel: grpc.aio.Channel, here: Place, statements: set[str], rpc: str
) -> None:
    await run(channel, rpc, here)
    assert {text: missing for text in statements if (missing := lacks(text))} == {}
    assert statements


@pytest.mark.parametrize(
    ("module", "rpc"),
    [
        (memories, "MemoryService.GetMemory"),
        (revisions, "MemoryService.ListMemoryRevisions"),
        (embeddings, "MemoryService.DeleteMemory"),
        (search, "MemoryService.SearchMemories"),
        (sessions, "SessionService.GetSession"),
        (turns, "SessionService.ListTurns"),
        (stores, "StoreService.DeleteStore"),
    ],
)
async def test_a_predicate_that_is_missing_is_noticed(
    channel: grpc.aio.Channel,
    here: Place,
    statements: set[str],
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    rpc: str,
) -> None:
    """Row-level security stands in for it, so that no answer shows the fault; this does."""
    monkeypatch.setattr(module, "in_tenant", lambda table, connection: true())
    connection_module._compiled_shapes.clear()
    await run(channel, rpc, here)
    connection_module._compiled_shapes.clear()
    assert any(lacks(text) for text in statements)
