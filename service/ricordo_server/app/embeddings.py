"""Texts to vectors within a time budget; never while a transaction is open."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, in_store
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import idempotency
from ricordo_server.db.connection import NO_PROJECT, TenantConnection
from ricordo_server.db.embedding_models import get_project_models
from ricordo_server.domain.call import Call
from ricordo_server.domain.embedding_model import EmbeddingModel, ProjectModels, VectorsByModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.memory import Memory, embedded_text
from ricordo_server.domain.ports import MAX_CHUNKS, Embedder, EmbeddingError, EmbeddingKind, Vector
from ricordo_server.domain.project_limits import TokenKind
from ricordo_server.domain.shared_loop import in_slices

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Spend = Callable[[Sequence[str]], Awaitable[None]]

# Of the time left for a call, what embedding may take: the write itself must still fit.
SHARE_OF_DEADLINE = 0.8
# About a millisecond of splitting, less than a thread hop costs under load.
LONG_TEXT_CHARACTERS = 2_000
# A switch is an administrator's deed: one between two attempts is rare, a second one is no accident.
READ_ATTEMPTS = 2
# What any model can embed: where this fails it is the model, where only another text fails it is the text.
PLAIN_TEXT = "a plain sentence"


async def find_models(services: Services, call: Call) -> ProjectModels:
    """The models of the caller's project, as the last transaction of this process found them."""
    known = services.database.last_models.get(call.principal.project_id or NO_PROJECT)
    return await read_models(services, call) if known is None else known


async def read_models(services: Services, call: Call) -> ProjectModels:
    """The models of the caller's project as they are now.

    Raises:
        DomainError: PROJECT_NOT_FOUND.
    """
    async with in_project(services.database.pool, call) as connection:
        found = await get_project_models(connection)
    if found is None:
        message = "the project of this credential is not there: ask the operator for a new credential"
        raise DomainError(Reason.PROJECT_NOT_FOUND, message)
    services.database.last_models[connection.project_id] = found
    return found


async def embed_documents(services: Services, call: Call, texts: Sequence[str]) -> list[VectorsByModel]:
    """The vectors of each text under every model that the project uses.

    A model that is down or slow costs its vectors, never the write: the row is stored without them.

    Raises:
        DomainError: RATE_LIMIT_EXCEEDED, when the project has no tokens left for today.
    """
    models = (await find_models(services, call)).in_use
    budget = _budget(services, call)
    answers = await asyncio.gather(
        *(_embed_or_none(services, call, model, texts, budget) for model in models)
    )
    return [
        {
            model.model_id: vectors[number]
            for model, vectors in zip(models, answers, strict=True)
            if vectors is not None
        }
        for number in range(len(texts))
    ]


async def _embed_or_none(
    services: Services, call: Call, model: EmbeddingModel, texts: Sequence[str], budget: float
) -> list[list[Vector]] | None:
    try:
        async with asyncio.timeout(budget):
            embedder = await services.embedders.get(model)
            return await embed_chunks(embedder, texts, partial(_spend, services, call))
    except (EmbeddingError, TimeoutError) as error:
        cause = {"cause": type(error).__name__, "model": model.name, "texts": len(texts)}
        log.warning("stored without vectors", extra=cause)
        return None


async def embed_chunks(
    embedder: Embedder, texts: Sequence[str], spend: Spend | None = None
) -> list[list[Vector]]:
    """The vectors of each text's chunks; none for a text that the model refuses. `spend` hears of the chunks first.

    Raises:
        EmbeddingError: nothing could be embedded.
    """
    chunked = [await _split(embedder, text) async for text in in_slices(texts)]
    chunks = [chunk for each in chunked for chunk in each]
    if spend is not None:
        await spend(chunks)
    following = iter(await embedder.embed(chunks, EmbeddingKind.DOCUMENT))
    return [[vector for _ in each if (vector := next(following)) is not None] for each in chunked]


async def _split(embedder: Embedder, text: str) -> list[str]:
    """Long texts off the event loop: 0.2 s of work for 256 KiB."""
    if len(text) < LONG_TEXT_CHARACTERS:
        return _split_passages(embedder, text)
    return await asyncio.to_thread(_split_passages, embedder, text)


def _split_passages(embedder: Embedder, text: str) -> list[str]:
    """No chunk goes over a form feed."""
    chunks = (chunk for passage in text.split("\f") for chunk in embedder.split(passage))
    return list(islice(chunks, MAX_CHUNKS))


def marked(memory: Memory, model: EmbeddingModel, vectors: VectorsByModel) -> Memory:
    """The memory as it stands with these vectors, where `model` is what reads use."""
    has_embedding = bool(vectors.get(model.model_id))
    return replace(memory, has_embedding=has_embedding, embedding_model=model.name if has_embedding else "")


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
    try:
        return await _store_vectors(services, call, store_id, memory, vectors, answer)
    except DomainError as error:  # the memory itself is committed: its call has succeeded
        log.warning("stored without vectors", extra={"cause": error.reason, "texts": 1})
        return memory


async def _store_vectors(
    services: Services,
    call: Call,
    store_id: str,
    memory: Memory,
    vectors: VectorsByModel,
    answer: Callable[[Memory], object],
) -> Memory:
    async with in_store(services.database, call, store_id) as connection:
        if not await vectors_db.lock_memory_at_revision(connection, memory.memory_id, memory.revision):
            return memory
        complete = marked(memory, connection.embedding_model, vectors)
        await vectors_db.drop_memory_vectors(connection, memory.memory_id)
        await vectors_db.store_memory_vectors(connection, [(complete, vectors)])
        if call.once:
            kept = await call.once.encode(answer(complete))
            await idempotency.keep_answer(connection, call.principal, call.once, kept)
        return complete


@dataclass(frozen=True)
class QueryVector:
    """A query under one model: no vector of another model is ever compared with it."""

    vector: Vector
    model: EmbeddingModel


async def embed_query(services: Services, call: Call, query: str) -> QueryVector:
    """The query under the model that reads of the project use.

    Raises:
        DomainError: EMBEDDER_UNAVAILABLE, RATE_LIMIT_EXCEEDED.
    """
    model = (await find_models(services, call)).active
    await _spend(services, call, [query])
    try:
        async with asyncio.timeout(_budget(services, call)):
            embedder = await services.embedders.get(model)
            [vector] = await embedder.embed([query], EmbeddingKind.QUERY)
    except (EmbeddingError, TimeoutError) as error:
        message = "the embedding model cannot be reached: use TEXT mode, or try again later"
        raise DomainError(Reason.EMBEDDER_UNAVAILABLE, message) from error
    if vector is None:
        message = "the embedding model refuses this query: use TEXT mode, or other words"
        raise DomainError(Reason.EMBEDDER_UNAVAILABLE, message)
    return QueryVector(vector, model)


async def check_reachable(services: Services, call: Call, model: EmbeddingModel) -> None:
    """Raises DomainError: EMBEDDER_UNAVAILABLE, when this server cannot embed with the model."""
    try:
        async with asyncio.timeout(_budget(services, call)):
            await embed_chunks(await services.embedders.get(model), [PLAIN_TEXT])
    except (EmbeddingError, TimeoutError) as error:
        log.warning("a model cannot be reached", extra={"model": model.name, "cause": str(error)})
        message = f"this server cannot embed with {model.name}: its log says why; see `ricordo doctor`"
        raise DomainError(Reason.EMBEDDER_UNAVAILABLE, message, "name") from error


class ModelSwitched(Exception):  # noqa: N818 - no error: the read starts again
    """The project reads by another model now than the query was embedded with."""


def check_model(connection: TenantConnection, embedded: QueryVector | None) -> None:
    """Raises ModelSwitched."""
    if embedded is not None and embedded.model != connection.embedding_model:
        raise ModelSwitched


async def read_with_one_model(read: Callable[[], Awaitable[Result]]) -> Result:
    """Runs a read, and once more when its project was switched to another model meanwhile.

    The transaction that found the switch has left the new model where `embed_query` looks.

    Raises:
        DomainError: WRITE_CONFLICT, when it was switched twice.
    """
    for _ in range(READ_ATTEMPTS):
        try:
            return await read()
        except ModelSwitched:
            continue
    raise DomainError(Reason.WRITE_CONFLICT, "the project's embedding model is being switched: try again")


async def _spend(services: Services, call: Call, texts: Sequence[str]) -> None:
    tokens = sum([services.tokens.count(text) async for text in in_slices(texts)])
    await services.limiter.spend(call.principal, TokenKind.EMBEDDING, tokens)


def _budget(services: Services, call: Call) -> float:
    return min(services.embed_timeout, call.remaining * SHARE_OF_DEADLINE)
