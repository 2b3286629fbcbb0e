"""Rows of one store: those that lack vectors of a model, and those that have vectors of an unused one; in batches."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

from ricordo_server.app.embeddings import PLAIN_TEXT, embed_chunks
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import completion as completion_db
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.completion import Embedded
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.embedding_model import EmbeddingModel, VectorsByModel
from ricordo_server.domain.memory import Memory, embedded_text
from ricordo_server.domain.ports import Embedder, EmbeddingError, Vector
from ricordo_server.domain.principal import worker_of
from ricordo_server.domain.session import Turn

log = logging.getLogger(__name__)

Item = TypeVar("Item", Memory, Turn)

# Rows of one transaction, and characters that one request of the embedder gets: others wait no longer than that.
BATCH_ROWS = 64
BATCH_CHARACTERS = 50_000
# Rows whose vectors one transaction removes.
BATCH_REMOVED = 1_000
# Seconds for the statements of a batch, and for its embedding.
BATCH_SECONDS = 60.0
EMBED_SECONDS = 120.0


@dataclass(frozen=True)
class Completion:
    """What was done: rows that got vectors, rows that a model refuses, vectors that were removed.

    `is_whole` is False when the run's time was over first.
    """

    embedded: int = 0
    refused: int = 0
    removed: int = 0
    is_whole: bool = True

    def __add__(self, other: "Completion") -> "Completion":
        return Completion(
            self.embedded + other.embedded,
            self.refused + other.refused,
            self.removed + other.removed,
            self.is_whole and other.is_whole,
        )


@dataclass(frozen=True)
class Noun(Generic[Item]):
    """How rows of a kind are read, locked as they were read, and given vectors."""

    embedded: Embedded
    read: Callable[[TenantConnection, Sequence[str]], Awaitable[Mapping[str, Item]]]
    text_of: Callable[[Item], str]
    lock: Callable[[TenantConnection, Mapping[str, Item]], Awaitable[set[str]]]
    store: Callable[[TenantConnection, Sequence[tuple[Item, VectorsByModel]]], Awaitable[None]]


async def _lock_memories(connection: TenantConnection, read: Mapping[str, Memory]) -> set[str]:
    revisions = {memory_id: memory.revision for memory_id, memory in read.items()}
    return await completion_db.lock_memories(connection, revisions)


async def _lock_turns(connection: TenantConnection, read: Mapping[str, Turn]) -> set[str]:
    return await completion_db.lock_turns(connection, list(read))


MEMORIES = Noun(
    completion_db.MEMORIES,
    memories_db.get_memories,
    embedded_text,
    _lock_memories,
    vectors_db.store_memory_vectors,
)
TURNS = Noun(
    completion_db.TURNS,
    turns_db.get_turns,
    lambda turn: turn.content,
    _lock_turns,
    vectors_db.store_turn_vectors,
)


@dataclass(frozen=True)
class Run:
    """One run over a project: `until` is a time of `time.monotonic`, `away` are models not to be asked again."""

    services: Services
    project_id: UUID
    until: float
    away: set[str] = field(default_factory=set)

    @property
    def call(self) -> Call:
        """With time for one batch."""
        return Call(worker_of(self.project_id), time.monotonic() + BATCH_SECONDS)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


async def complete_rows(run: Run, store_id: str, noun: Noun[Item], model: EmbeddingModel) -> Completion:
    """Goes through the rows once; a model that cannot be asked is left for another run."""
    done, after = Completion(), ""
    while not run.is_over:
        if model.name in run.away:
            return done
        items = await _read_incomplete(run, store_id, noun, model, after)
        if not items:
            return done
        after = max(items)
        try:
            async with asyncio.timeout(EMBED_SECONDS):
                embedder = await run.services.embedders.get(model)
                vectors = await _embed(embedder, [noun.text_of(item) for item in items.values()])
        except (EmbeddingError, TimeoutError) as error:
            log.warning("a model cannot complete rows", extra={"model": model.name, "cause": str(error)})
            run.away.add(model.name)
            return done
        done += await _store(run, store_id, noun, model, items, vectors)
    return done + Completion(is_whole=False)


async def _read_incomplete(
    run: Run, store_id: str, noun: Noun[Item], model: EmbeddingModel, after: str
) -> dict[str, Item]:
    """The next rows, in the order of their ids; none once the project does not use the model any more."""
    async with in_store(run.services.database, run.call, store_id) as connection:
        if model not in connection.models.in_use:
            return {}
        ids = await completion_db.find_incomplete(connection, noun.embedded, model, after, BATCH_ROWS)
        items = await noun.read(connection, ids) if ids else {}
    batch: dict[str, Item] = {}
    room = BATCH_CHARACTERS
    for item_id in filter(items.__contains__, ids):
        room -= len(noun.text_of(items[item_id]))
        if batch and room < 0:
            break
        batch[item_id] = items[item_id]
    return batch


async def _embed(embedder: Embedder, texts: Sequence[str]) -> list[list[Vector]]:
    """The vectors of each text; none for one that the model refuses, or that it breaks down at.

    Raises:
        EmbeddingError: the model cannot be asked at all now.
    """
    try:
        return await embed_chunks(embedder, texts)
    except EmbeddingError as error:
        if error.retryable:
            raise
    await embed_chunks(embedder, [PLAIN_TEXT])
    return [await _embed_alone(embedder, text) for text in texts]


async def _embed_alone(embedder: Embedder, text: str) -> list[Vector]:
    try:
        [vectors] = await embed_chunks(embedder, [text])
    except EmbeddingError as error:
        if error.retryable:
            raise
        return []
    return vectors


async def _store(
    run: Run,
    store_id: str,
    noun: Noun[Item],
    model: EmbeddingModel,
    items: Mapping[str, Item],
    vectors: Sequence[Sequence[Vector]],
) -> Completion:
    """Only for rows that are as they were read: nothing comes back to life, and no new text gets an old vector."""
    by_id = dict(zip(items, vectors, strict=True))

    async def work(connection: TenantConnection) -> Completion:
        same = await noun.lock(connection, items)
        rows = [(items[item_id], {model.model_id: by_id[item_id]}) for item_id in items if item_id in same]
        await noun.store(connection, rows)
        refused = sum(1 for item_id in same if not by_id[item_id])
        return Completion(embedded=len(same) - refused, refused=refused)

    return await write_store(run.services.database, run.call, store_id, work)


async def remove_unused(run: Run, store_id: str, embedded: Embedded) -> Completion:
    """Removes vectors of models that the project does not use."""
    removed, after = 0, ""
    while not run.is_over:
        async with in_store(run.services.database, run.call, store_id) as connection:
            ids = await completion_db.find_unused(connection, embedded, after, BATCH_REMOVED)
            if not ids:
                return Completion(removed=removed)
            removed += await completion_db.drop_unused_vectors(connection, embedded, ids)
        after = ids[-1]
    return Completion(removed=removed, is_whole=False)
