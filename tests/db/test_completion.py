"""Completion: rows without vectors of a model in use get them, and nothing else changes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from ricordo_server.app import memories, sessions, turns
from ricordo_server.app.completion import complete_project
from ricordo_server.app.embedders import Embedders
from ricordo_server.app.row_completion import Completion
from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.domain.call import Call
from ricordo_server.domain.memory import Memory, MemoryDraft, MemoryKind
from ricordo_server.domain.ports import EmbeddingError, EmbeddingKind, Vector
from ricordo_server.domain.retention import DEFAULT_OPTIONS
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import TurnDraft
from ricordo_server.embedding import load_stored_embedder
from ricordo_server.embedding.hashing import HashingEmbedder
from ricordo_server.server import open_services
from tests.fixtures.database import MODEL, service_principal

ANN = Scope(user_id="ann")
SESSION = Scope(user_id="ann", session_id="s")


class Moody(HashingEmbedder):
    """The tests' model: away while `away` is set, and breaking down at texts that hold a word of `poison`."""

    def __init__(self) -> None:
        super().__init__(MODEL.dimension)
        self.away = False
        self.times_asked = 0
        self.poison: set[str] = set()
        self.refused: set[str] = set()
        self.before_answer = asyncio.Event()
        self.before_answer.set()
        self.asked = asyncio.Event()

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        self.times_asked += 1
        self.asked.set()
        await self.before_answer.wait()
        if self.away:
            raise EmbeddingError("away", retryable=True)
        if any(word in text for word in self.poison for text in texts):
            raise EmbeddingError("broken", retryable=False)
        vectors = await super().embed(texts, kind)
        return [
            None if any(word in text for word in self.refused) else vector
            for text, vector in zip(texts, vectors, strict=True)
        ]


@pytest.fixture
def model() -> Moody:
    return Moody()


@pytest.fixture
async def services(settings: Settings, model: Moody) -> AsyncIterator[Services]:
    async with open_services(settings, pool_size=4) as opened:
        embedders = Embedders(opened.database.pool, model, load_stored_embedder)
        yield replace(opened, embedders=embedders)


@pytest.fixture
def call(project_id: UUID) -> Call:
    return Call(service_principal(project_id), time.monotonic() + 300)


def fact(content: str = "green tea") -> MemoryDraft:
    return MemoryDraft(kind=MemoryKind.SEMANTIC, content=content, scope=ANN)


async def write(services: Services, call: Call, content: str = "green tea") -> Memory:
    return await memories.create_memory(services, call, "", fact(content), DEFAULT_OPTIONS)


async def read(services: Services, call: Call, memory_id: str) -> Memory:
    return await memories.get_memory(services, call, "", memory_id, include_deleted=False)


async def complete(services: Services, call: Call) -> Completion:
    assert call.principal.project_id
    return await complete_project(services, call.principal.project_id, seconds=300)


async def write_while_away(services: Services, call: Call, model: Moody, *contents: str) -> list[Memory]:
    model.away = True
    written = [await write(services, call, content) for content in contents]
    model.away = False
    assert not any(memory.has_embedding for memory in written)
    return written


async def test_memories_and_turns_stored_while_the_model_was_away_are_completed(
    services: Services, call: Call, model: Moody
) -> None:
    [memory] = await write_while_away(services, call, model, "green tea")
    model.away = True
    recorded = await turns.record_turn(
        services, call, "", SESSION, TurnDraft(role="user", content="black tea")
    )
    model.away = False
    assert await complete(services, call) == Completion(embedded=2)
    completed = await read(services, call, memory.memory_id)
    turn = await turns.get_turn(services, call, "", recorded.turn.turn_id)
    assert (completed.has_embedding, completed.embedding_model, turn.has_embedding) == (
        True,
        MODEL.name,
        True,
    )
    assert completed.revision == memory.revision


async def test_what_is_complete_is_left_alone(services: Services, call: Call) -> None:
    await write(services, call)
    assert await complete(services, call) == Completion()


async def test_more_rows_than_a_batch_are_completed(
    services: Services, call: Call, model: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo_server.app.row_completion.BATCH_ROWS", 3)
    await write_while_away(services, call, model, *map(str, range(10)))
    assert await complete(services, call) == Completion(embedded=10)


async def test_long_texts_make_small_batches(
    services: Services, call: Call, model: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo_server.app.row_completion.BATCH_CHARACTERS", 10)
    await write_while_away(services, call, model, *["longer than a batch"] * 3)
    assert await complete(services, call) == Completion(embedded=3)


async def test_rows_wait_for_a_model_that_is_away(services: Services, call: Call, model: Moody) -> None:
    [memory] = await write_while_away(services, call, model, "green tea")
    model.away = True
    assert await complete(services, call) == Completion()
    model.away = False
    assert await complete(services, call) == Completion(embedded=1)
    assert (await read(services, call, memory.memory_id)).has_embedding


async def test_a_model_that_is_away_is_asked_once_a_run(services: Services, call: Call, model: Moody) -> None:
    await write_while_away(services, call, model, "green tea")
    model.away = True
    await turns.record_turn(services, call, "", SESSION, TurnDraft(role="user", content="black tea"))
    model.times_asked = 0
    await complete(services, call)
    assert model.times_asked == 1


async def test_a_text_that_the_model_refuses_is_marked_and_not_asked_again(
    services: Services, call: Call, model: Moody
) -> None:
    written = await write_while_away(services, call, model, "bad tea", "green tea")
    model.refused = {"bad"}
    assert await complete(services, call) == Completion(embedded=1, refused=1)
    assert await complete(services, call) == Completion()
    assert not (await read(services, call, written[0].memory_id)).has_embedding


async def test_a_text_that_the_model_breaks_down_at_drops_no_other(
    services: Services, call: Call, model: Moody
) -> None:
    await write_while_away(services, call, model, "bad tea", "green tea", "black tea")
    model.poison = {"bad"}
    assert await complete(services, call) == Completion(embedded=2, refused=1)


async def test_a_model_that_fails_at_any_text_marks_none(
    services: Services, call: Call, model: Moody
) -> None:
    await write_while_away(services, call, model, "green tea")
    model.poison = {"a"}
    assert await complete(services, call) == Completion()
    model.poison = set()
    assert await complete(services, call) == Completion(embedded=1)


async def test_a_marked_text_is_asked_about_again_once_it_changes(
    services: Services, call: Call, model: Moody
) -> None:
    model.refused = {"bad"}
    memory = await write(services, call, "bad tea")
    assert await complete(services, call) == Completion()  # the write has left the mark
    changed = await memories.update_memory(
        services, call, "", memory.memory_id, {"content": "good tea"}, DEFAULT_OPTIONS, expected_revision=None
    )
    assert changed.has_embedding


async def test_a_turn_without_text_is_complete(services: Services, call: Call) -> None:
    await turns.record_turn(services, call, "", SESSION, TurnDraft(role="tool", content=""))
    assert await complete(services, call) == Completion()


async def while_it_embeds(
    services: Services, call: Call, model: Moody, change: Callable[[], Awaitable[None]]
) -> Completion:
    """A run during whose embedding `change` commits."""
    model.before_answer.clear()
    model.asked.clear()
    run = asyncio.create_task(complete(services, call))
    await model.asked.wait()
    await change()
    model.before_answer.set()
    return await run


async def test_a_memory_deleted_meanwhile_stays_deleted(services: Services, call: Call, model: Moody) -> None:
    [memory] = await write_while_away(services, call, model, "green tea")

    async def delete() -> None:
        await memories.delete_memory(services, call, "", memory.memory_id, purge=True, expected_revision=None)

    assert await while_it_embeds(services, call, model, delete) == Completion()


async def test_a_session_deleted_meanwhile_stays_deleted(
    services: Services, call: Call, model: Moody
) -> None:
    model.away = True
    await turns.record_turn(services, call, "", SESSION, TurnDraft(role="user", content="black tea"))
    model.away = False

    async def delete() -> None:
        await sessions.delete_session(services, call, "", SESSION, cascade=False)

    assert await while_it_embeds(services, call, model, delete) == Completion()


async def test_a_text_changed_meanwhile_gets_no_vector_of_the_old_one(
    services: Services, call: Call, model: Moody
) -> None:
    [memory] = await write_while_away(services, call, model, "green tea")
    short = replace(services, embed_timeout=0.01)  # the writer finds the model busy

    async def change() -> None:
        await memories.update_memory(
            short, call, "", memory.memory_id, {"content": "new"}, DEFAULT_OPTIONS, expected_revision=None
        )

    assert await while_it_embeds(services, call, model, change) == Completion()
    assert not (await read(services, call, memory.memory_id)).has_embedding
    assert await complete(services, call) == Completion(embedded=1)


async def test_a_run_whose_time_is_over_says_so(
    services: Services, call: Call, model: Moody, project_id: UUID
) -> None:
    await write_while_away(services, call, model, "green tea")
    assert not (await complete_project(services, project_id, seconds=0)).is_whole
