"""A provider that is away, slow, full, wrong and talkative by turns, in a time that runs a hundred times faster."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from ricordo import AsyncClient
from ricordo.models import ExtractionPolicy, NewTurn, ProjectChanges, QueueCounts, Scope
from ricordo_server.config import Settings
from ricordo_server.domain import failure
from ricordo_server.jobs import extraction
from tests.fixtures.database import TestDatabase
from tests.fixtures.fake_chat import FakeChat, Reply, items, reading_with
from tests.jobs.queue import read_jobs, until, worker
from tests.proof.conftest import Tally
from tests.proof.obedient_model import repeat
from tests.proof.scale import scaled
from tests.proof.workers import open_extractions

pytestmark = [pytest.mark.xdist_group("workers"), pytest.mark.usefixtures("empty_queue")]

TURNS = scaled(1_000)
FASTER = 100
SLOW = 0.6  # a minute
FAULTS = (
    Reply(gone=True),
    Reply(half=True),
    Reply(status=500),
    Reply(status=503, headers={"retry-after": "0.1"}),
    Reply(status=429, headers={"retry-after": "0.1"}),
    Reply(status=401),
    Reply(""),
    Reply("so {it} goes"),
    items({"content": 1}),
    Reply('{"items": [{"content": "I own', "length"),
)


class Provider:
    """While it is away nobody is answered; while it is troubled half of the answers are faults, and some are slow."""

    def __init__(self) -> None:
        self.is_away = self.is_troubled = True
        self.faults = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        if self.is_away:
            return Reply(gone=True)
        if self.is_troubled and random.random() < 0.5:
            self.faults += 1
            return random.choice(FAULTS)
        if self.is_troubled and random.random() < 0.1:
            time.sleep(SLOW)
        return repeat(request)


@pytest.fixture
def fake() -> Iterator[FakeChat]:
    with FakeChat() as model:
        yield model


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake)


@pytest.fixture(autouse=True)
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = {
        kind: replace(
            policy, first_pause=policy.first_pause / FASTER, longest_pause=policy.longest_pause / FASTER
        )
        for kind, policy in failure.POLICIES.items()
    }
    monkeypatch.setattr(failure, "POLICIES", hurried)


async def test_what_was_said_meanwhile_is_learned_afterwards(
    settings: Settings,
    service_target: str,
    fake: FakeChat,
    database: TestDatabase,
    project_id: UUID,
    tally: Tally,
) -> None:
    fake.answer = provider = Provider()
    policy = ExtractionPolicy(kinds=["semantic"], turn_count=1, topic_shift=None, idle=None)
    async with AsyncClient(service_target) as client, worker(settings, *extraction.KINDS):
        await client.project.update(ProjectChanges(extraction=policy))
        said = await record(client, 0, TURNS // 2)
        await until(lambda: any(job["attempts"] for job in read_jobs(database, project_id)))
        seen = await look(service_target, project_id)
        tally.count(seen.last_failure_class == "transient" and seen.waiting + seen.scheduled > 0, seen)
        provider.is_away = False
        said += await record(client, TURNS // 2, TURNS)
        await until(lambda: provider.faults >= TURNS // 4)
        provider.is_troubled = False
        await until(lambda: not open_extractions(database, project_id))
        for each in [each async for each in client.extraction.list_failures(page_size=1000)]:
            tally.count(each.failure_class == "content", each)  # nothing else outlasts its attempts
            await client.extraction.retry_failure(each.snapshot_id, each.kind)
        await until(lambda: not open_extractions(database, project_id))
        left = [each async for each in client.extraction.list_failures()]
        made = Counter([each.content async for each in client.memories.list(page_size=1000)])
    for fact in said:
        tally.count(made[fact] == 1, (fact, made[fact]))
    assert not tally.failures
    assert (left, made.total()) == ([], TURNS)


async def look(target: str, project_id: UUID) -> QueueCounts:
    """What an operator sees of it meanwhile."""
    async with AsyncClient(target, token="development:operator") as operator:
        return (await operator.admin.get_queue_status(project_id=str(project_id))).total


async def record(client: AsyncClient, first: int, last: int) -> list[str]:
    """Each is acknowledged, whatever becomes of it later."""
    facts = [f"I own the boat named number{number}." for number in range(first, last)]

    async def record_one(number: int, fact: str) -> None:
        scope = Scope(user_id=f"user{number % 8}", session_id=f"s{first + number}")
        await client.sessions.record_turn(NewTurn(role="user", content=fact), scope=scope)

    for start in range(0, len(facts), 8):
        batch = enumerate(facts[start : start + 8], start)
        await asyncio.gather(*(record_one(number, fact) for number, fact in batch))
    return facts
