"""Every RPC, asked about a thousand things of another project and a thousand that nobody has: the same answer."""

from dataclasses import replace

import grpc.aio
import pytest
import pytest_asyncio

from tests.fixtures.database import TestDatabase
from tests.isolation.rpc_world import Names, Place, absent, ask, digest, fill, make_place, service
from tests.isolation.test_every_rpc import CASES, shows
from tests.proof.conftest import Tally
from tests.proof.world import at_once, channel  # noqa: F401 - a fixture

pytestmark = pytest.mark.asyncio(loop_scope="module")

IDS = 1_000
# It is the longest of all proofs, so that two workers share it.
HALVES = [
    pytest.param(rpc, marks=pytest.mark.xdist_group(f"foreign_ids_{number % 2}"))
    for number, rpc in enumerate(CASES)
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def far(channel: grpc.aio.Channel, database: TestDatabase) -> list[Place]:  # noqa: F811
    """Things of one other project, each with names of its own."""
    project = make_place(database)
    places: list[Place] = []

    async def add(_: int) -> None:
        names = replace(Names(), store_id=project.names.store_id, organization_id=str(project.project_id))
        places.append(await fill(channel, replace(project, names=names)))

    await at_once(range(IDS), add)
    return places


@pytest.mark.parametrize("rpc", HALVES)
async def test_foreign_ids_are_as_absent_ones(
    channel: grpc.aio.Channel,  # noqa: F811
    database: TestDatabase,
    far: list[Place],
    rpc: str,
    tally: Tally,
) -> None:
    near = await fill(channel, make_place(database))
    before = digest(database, far[0])
    for number, theirs in enumerate(far):
        if (
            rpc == "StoreService.CreateStore"
        ):  # all of theirs lie in one store, whose name is taken once it is made
            near = make_place(database)
        nobodys = absent(theirs.names)
        cases = [CASES[rpc](names) for names in (theirs.names, nobodys)]
        requests = [case[number % len(case)] for case in cases]
        answers = [
            await ask(channel, rpc, request, service(near), names)
            for request, names in zip(requests, (theirs.names, nobodys), strict=True)
        ]
        leaks = [answer for answer in answers if answer.reply and shows(answer.reply, theirs)]
        tally.count(answers[0].text == answers[1].text and not leaks, requests[0])
        tally.cases += 1  # two ids were asked about: the foreign and the absent one
    assert not tally.failures
    assert digest(database, far[0]) == before
