"""Workers that are paused past their lease while a model reads for them, and go on when others did their work."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ricordo import AsyncClient
from ricordo.models import ExtractionPolicy, NewTurn, ProjectChanges, Scope
from tests.cli.programs import environment_of
from tests.fixtures.database import TestDatabase
from tests.fixtures.fake_chat import FakeChat, Reply
from tests.jobs.queue import until
from tests.proof.conftest import Tally
from tests.proof.obedient_model import repeat
from tests.proof.scale import scaled
from tests.proof.workers import Workers, is_alive, open_extractions, worker_programs

pytestmark = [pytest.mark.xdist_group("workers"), pytest.mark.usefixtures("empty_queue")]

PAUSES = scaled(100)
AT_ONCE = min(10, PAUSES)


class PatientModel:
    """Answers nobody until it may; whoever asks after that is answered at once."""

    def __init__(self) -> None:
        self.waiting = 0
        self.may_answer = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> Reply:
        if not self.may_answer.is_set():
            with self._lock:
                self.waiting += 1
                patient = self.waiting <= AT_ONCE
            if patient:
                self.may_answer.wait()
        return repeat(request)


@pytest.fixture
def fake() -> Iterator[FakeChat]:
    with FakeChat() as model:
        yield model


async def test_a_worker_that_was_away_writes_nothing_a_second_time(
    database: TestDatabase,
    project_id: UUID,
    service_target: str,
    fake: FakeChat,
    tmp_path: Path,
    tally: Tally,
) -> None:
    endpoint = {
        "extraction__endpoints__fake__base_url": fake.base_url,
        "extraction__endpoints__fake__model": "m",
    }
    reading = environment_of({**endpoint, "extraction__default": "fake", "worker_concurrency": AT_ONCE})
    said: list[str] = []
    async with (
        AsyncClient(service_target) as client,
        worker_programs(database, tmp_path, **reading) as workers,
    ):
        policy = ExtractionPolicy(kinds=["semantic"], turn_count=1, topic_shift=None, idle=None)
        await client.project.update(ProjectChanges(extraction=policy))
        for number in range(PAUSES // AT_ONCE):
            facts = [f"I own the boat named {number}x{place}." for place in range(AT_ONCE)]
            for place, fact in enumerate(facts):
                scope = Scope(user_id=f"user{place}", session_id=f"s{number}")
                await client.sessions.record_turn(NewTurn(role="user", content=fact), scope=scope)
            await pause_one(workers, fake, database, project_id)
            said += facts
        made = Counter([each.content async for each in client.memories.list(page_size=1000)])
    for fact in said:
        tally.count(made[fact] == 1, (fact, made[fact]))
    assert not tally.failures
    assert made.total() == len(said)


async def pause_one(workers: Workers, fake: FakeChat, database: TestDatabase, project_id: UUID) -> None:
    """It has every job when it is paused, and its answers when it goes on; then it ends by itself."""
    fake.answer = model = PatientModel()
    paused = await workers.start()
    await until(lambda: model.waiting >= AT_ONCE)
    os.kill(paused, signal.SIGSTOP)
    other = await workers.start()
    await until(lambda: not open_extractions(database, project_id))
    model.may_answer.set()
    for pid in (paused, other):
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        await until(lambda pid=pid: not is_alive(pid))  # type: ignore[misc]
