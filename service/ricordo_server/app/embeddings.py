"""Texts to vectors within a time budget; never while a transaction is open."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import idempotency
from ricordo_server.domain.call import Call
from ricordo_server.domain.embedding_model import EmbeddingModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.memory import Memory, embedded_text
from ricordo_server.domain.ports import EmbeddingError, EmbeddingKind, Vector
from ricordo_server.domain.project_limits import TokenKind

log = logging.getLogger(__name__)

# Of the time left for a call, what embedding may take: the write itself must still fit.
SHARE_OF_DEADLINE = 0.8
# About a millisecond of splitting, less than a thread hop costs under load.
LONG_TEXT_CHARACTERS = 2_000


async def embed_documents(services: Services, call: Call, texts: Sequence[str]) -> list[list[Vector]]:
    """The vectors of each text's chunks; none for a text that could not be embedded.

    A model that is down or slow costs the vectors, never the write: the row is stored without them.

    Raises:
        DomainError: RATE_LIMIT_EXCEEDED, when the project has no tokens left for today.
    """
    try:
        async with asyncio.timeout(_budget(services, call)):
            chunked = [await _split(services, text) for text in texts]
            chunks = [chunk for chunks in chunked for chunk in chunks]
            await _spend(services, call, chunks)
            vectors = await services.embedder.embed(chunks, EmbeddingKind.DOCUMENT)
    except (EmbeddingError, TimeoutError) as error:
        log.warning("stored without vectors", extra={"cause": type(error).__name__, "texts": len(texts)})
        return [[] for _ in texts]
    following = iter(vectors)
    return [[vector for _ in chunks if (vector := next(following)) is not None] for chunks in chunked]


async def _split(services: Services, text: str) -> list[str]:
    """Long texts off the event loop: 0.2 s of work for 256 KiB."""
    if len(text) < LONG_TEXT_CHARACTERS:
        return services.embedder.split(text)
    return await asyncio.to_thread(services.embedder.split, text)


def marked(memory: Memory, model: EmbeddingModel, vectors: Sequence[Vector]) -> Memory:
    """The memory as it stands with these vectors."""
    return replace(memory, has_embedding=bool(vectors), embedding_model=model.name if vectors else "")


async def complete_vectors(
    services: Services, call: Call, store_id: str, memory: Memory, answer: Callable[[Memory], object]
) -> Memory:
    """Embeds a memory that was written without vectors, unless it has changed again meanwhile.

    Its text is known only once the row is written (fields are masked, lines appended by several writers), so the
    vectors follow in a second transaction. `answer` makes the result that a repeat of the call gets.
    """
    if memory.has_embedding:
        return memory
    [vectors] = await embed_documents(services, call, [embedded_text(memory)])
    if not vectors:
        return memory
    complete = marked(memory, services.database.embedding_model, vectors)
    try:
        stored = await _store_vectors(services, call, store_id, complete, vectors, answer)
    except DomainError as error:  # the memory itself is committed: its call has succeeded
        log.warning("stored without vectors", extra={"cause": error.reason, "texts": 1})
        return memory
    return complete if stored else memory


async def _store_vectors(
    services: Services,
    call: Call,
    store_id: str,
    complete: Memory,
    vectors: Sequence[Vector],
    answer: Callable[[Memory], object],
) -> bool:
    async with in_store(services.database, call, store_id) as connection:
        if not await vectors_db.lock_memory_at_revision(connection, complete.memory_id, complete.revision):
            return False
        await vectors_db.drop_memory_vectors(connection, complete.memory_id)
        await vectors_db.store_memory_vectors(connection, [(complete, vectors)])
        if call.once:
            kept = call.once.encode(answer(complete))
            await idempotency.keep_answer(connection, call.principal, call.once, kept)
        return True


async def embed_query(services: Services, call: Call, query: str) -> Vector:
    """The query's vector.

    Raises:
        DomainError: EMBEDDER_UNAVAILABLE, RATE_LIMIT_EXCEEDED.
    """
    await _spend(services, call, [query])
    try:
        async with asyncio.timeout(_budget(services, call)):
            [vector] = await services.embedder.embed([query], EmbeddingKind.QUERY)
    except (EmbeddingError, TimeoutError) as error:
        message = "the embedding model cannot be reached: use TEXT mode, or try again later"
        raise DomainError(Reason.EMBEDDER_UNAVAILABLE, message) from error
    if vector is None:
        message = "the embedding model refuses this query: use TEXT mode, or other words"
        raise DomainError(Reason.EMBEDDER_UNAVAILABLE, message)
    return vector


async def _spend(services: Services, call: Call, texts: Sequence[str]) -> None:
    tokens = sum(map(services.tokens.count, texts))
    await services.limiter.spend(call.principal, TokenKind.EMBEDDING, tokens)


def _budget(services: Services, call: Call) -> float:
    return min(services.embed_timeout, call.remaining * SHARE_OF_DEADLINE)
