"""Each call of the contract has a method, which sends what it was given and gives back what it got."""

from typing import Any

import pytest

from ricordo import AsyncClient, models
from ricordo.errors import MemoryClientError
from ricordo.v1 import extraction_service_pb2 as extraction
from ricordo.v1 import memory_service_pb2 as memories
from tests.client._async.calls.case import SESSION
from tests.client._async.calls.identities import CASES as IDENTITIES
from tests.client._async.calls.learning import CASES as LEARNING
from tests.client._async.calls.memories import CASES as MEMORIES
from tests.client._async.calls.projects import CASES as PROJECTS
from tests.client._async.calls.sessions import CASES as SESSIONS
from tests.client._async.calls.stores import CASES as STORES
from tests.fixtures.client_samples import wire_memory
from tests.fixtures.fake_service import METHODS, FakeService

CASES = MEMORIES | SESSIONS | LEARNING | STORES | PROJECTS | IDENTITIES


def test_no_call_of_the_contract_is_missing() -> None:
    assert set(CASES) == set(METHODS)


@pytest.mark.parametrize("name", CASES)
async def test_call(fake: FakeService, client: AsyncClient, name: str) -> None:
    case = CASES[name]
    fake.answer(name, case.reply)
    answer = await case.invoke(client)
    assert fake.methods() == [name]
    assert case.answer(answer)
    assert {path: read(fake.calls[0].request, path) for path in case.sent} == case.sent


def test_every_mutation_carries_a_request_id() -> None:
    without = {
        name for name, method in METHODS.items() if "request_id" not in method.input_type.fields_by_name
    }
    reads = {
        name
        for name in METHODS
        if name.startswith(("Get", "List", "Search", "Retrieve", "Who", "Build", "Issue", "Wait"))
    }
    assert without == reads


async def test_get_by_key_names_kind_scope_and_key(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("GetMemory", memories.GetMemoryResponse(memory=wire_memory()))
    await client.memories.get_by_key("drink", kind="semantic", scope=models.Exactly(user_id="ada"))
    sent = fake.calls[0].request
    assert (read(sent, "memory_key.kind"), read(sent, "memory_key.key")) == (1, "drink")
    assert read(sent, "memory_key.scope.exactly.user_id") == "ada"


async def test_get_by_key_of_a_term_names_domain_and_term(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("GetMemory", memories.GetMemoryResponse(memory=wire_memory()))
    term = models.TaxonomicDetails(domain="law", term="tort")
    await client.memories.get_by_key(term, kind="taxonomic")
    assert read(fake.calls[0].request, "memory_key.taxonomic.term") == "tort"


def read(message: object, path: str) -> object:
    for name in path.split("."):
        message = getattr(message, name)
    return message


async def test_memories_are_made_of_one_source(client: AsyncClient) -> None:
    conflicting: dict[str, Any] = {"facts": ["a"], "turns": [models.SpokenTurn(role="user", content="b")]}
    for sources in ({}, conflicting):
        with pytest.raises(MemoryClientError, match="one of session, turns and facts"):
            await client.extraction.generate(**sources)


async def test_a_range_of_a_session_is_sent_as_it_is(client: AsyncClient, fake: FakeService) -> None:
    fake.answer("GenerateMemories", extraction.GenerateMemoriesResponse())
    await client.extraction.generate(session=models.SessionRange(scope=SESSION, to_turn_seq=7))
    sent = fake.calls[-1].request
    assert (sent.session.scope.session_id, sent.session.from_turn_seq, sent.session.to_turn_seq) == (
        "s1",
        0,
        7,
    )
