"""What one project writes and asks is in no line of the log, and in no answer to another."""

import io
import logging
from collections.abc import Iterator
from dataclasses import fields, replace

import grpc.aio
import pytest

from ricordo_server import logs
from tests.fixtures.database import TestDatabase
from tests.isolation.rpc_world import Names, Place, ask, fill, make_place, service
from tests.isolation.test_every_rpc import CASES
from tests.proof.conftest import Tally
from tests.proof.scale import scaled
from tests.proof.world import at_once, channel  # noqa: F401 - a fixture

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("canaries")]

CANARIES = scaled(1_000)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that a server would log."""
    stream = io.StringIO()
    before = logging.getLogger().handlers[:]
    logs.log_to(stream)
    logging.getLogger().handlers += before
    yield stream
    logging.getLogger().handlers = before
    logging.captureWarnings(False)


async def test_no_canary_leaves_its_project(
    channel: grpc.aio.Channel,  # noqa: F811
    database: TestDatabase,
    log: io.StringIO,
    tally: Tally,
) -> None:
    other = await fill(channel, make_place(database))
    place = make_place(database)
    canaries: list[Names] = []
    answers: list[str] = []

    async def sing(number: int) -> None:
        """Everything of this canary is its own: contents, keys, ids and what it asks; some of it in error."""
        names = replace(Names(user_id=f"canary-user-{number:05}-end"), store_id=place.names.store_id)
        canaries.append(names)
        await fill(channel, replace(place, names=names))
        for rpc, case in CASES.items():
            if not rpc.startswith(("Admin", "Store", "Project", "Identity")):
                request = case(names)[number % len(case(names))]
                await ask(channel, rpc, request, service(place), names)
        answers.extend(await questions(channel, other, number))

    await at_once(range(CANARIES), sing)
    written = log.getvalue()
    assert written.count("\n") > CANARIES  # it does log
    told = "\n".join(answers)
    for names in canaries:
        secrets = {getattr(names, field.name) for field in fields(names)} - {
            names.store_id,
            names.organization_id,
        }
        tally.count(not any(secret in written for secret in secrets), names)
        tally.count(not any(secret in told for secret in secrets), names)
    assert not tally.failures


async def questions(channel: grpc.aio.Channel, other: Place, number: int) -> list[str]:  # noqa: F811
    """What another project is told meanwhile, refusals included."""
    found = []
    for rpc in ("MemoryService.SearchMemories", "MemoryService.ListMemories", "MemoryService.GetMemory"):
        case = CASES[rpc](other.names)
        answer = await ask(channel, rpc, case[number % len(case)], service(other), other.names)
        found.append(answer.text)
    return found
