"""Search: the query's vector first, then both legs in one transaction, then one fused order."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ricordo_server.app.declarations import check_filter_declared, check_query_declared
from ricordo_server.app.embeddings import (
    QueryVector,
    check_model,
    embed_query,
    find_models,
    read_models,
    read_with_one_model,
)
from ricordo_server.app.permissions import check_may_read_as
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store
from ricordo_server.db import memories as memories_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.search import Searched, VectorLeg, get_vectors, search_by_text, search_by_vector
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.fusion import Candidate, Fused, fuse, rank_semantic, rank_text
from ricordo_server.domain.memory import Memory, MemoryQuery
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.search import Hit, SearchMode, SearchOptions, SearchResult
from ricordo_server.domain.session import Turn, TurnQuery

Item = TypeVar("Item")
Reader = Callable[[TenantConnection, Sequence[str]], Awaitable[Mapping[str, Item]]]

# Each leg gives more candidates than hits are asked for, so that fusion has something to choose from.
CANDIDATES_PER_HIT = 4
LEAST_CANDIDATES = 50


async def search_memories(
    services: Services,
    call: Call,
    store_id: str,
    query: MemoryQuery,
    options: SearchOptions,
    *,
    include_embedding: bool = False,
) -> SearchResult[Memory]:
    """The best memories, best first.

    Raises:
        DomainError: EMBEDDER_UNAVAILABLE in SEMANTIC mode, INVALID_EMBEDDING.
    """
    check_may_read_as(call.principal, query.scope)

    async def read() -> SearchResult[Memory]:
        prepared = await prepare(services, call, options)
        async with in_store(services.database, call, store_id) as connection:
            check_query_declared(connection.settings, query)
            searched = await memories_db.narrowed(connection, query)
            return await search(connection, searched, prepared, memories_db.get_memories, include_embedding)

    return await read_with_one_model(read)


async def search_turns(
    services: Services,
    call: Call,
    store_id: str,
    query: TurnQuery,
    options: SearchOptions,
    *,
    include_embedding: bool = False,
) -> SearchResult[Turn]:
    """The best turns, as `search_memories`."""
    check_may_read_as(call.principal, query.scope)

    async def read() -> SearchResult[Turn]:
        prepared = await prepare(services, call, options)
        async with in_store(services.database, call, store_id) as connection:
            check_filter_declared(connection, query.filter)
            searched = turns_db.searched(query)
            return await search(connection, searched, prepared, turns_db.get_turns, include_embedding)

    return await read_with_one_model(read)


@dataclass(frozen=True)
class Prepared:
    """Options with their vector and the mode that can run."""

    options: SearchOptions
    mode: SearchMode
    embedded: QueryVector | None
    degraded_reason: str = ""

    @property
    def vector(self) -> Vector | None:
        return self.embedded.vector if self.embedded else None


async def prepare(services: Services, call: Call, options: SearchOptions) -> Prepared:
    """Embeds the query before any transaction opens; HYBRID falls to TEXT when that fails."""
    if options.mode is SearchMode.TEXT:
        return Prepared(options, SearchMode.TEXT, None)
    if options.query_embedding is not None:
        given = await _given_vector(services, call, options.query_embedding)
        return Prepared(options, options.mode if options.query else SearchMode.SEMANTIC, given)
    try:
        return Prepared(options, options.mode, await embed_query(services, call, options.query))
    except DomainError as error:
        if options.mode is SearchMode.SEMANTIC:
            raise
        return Prepared(options, SearchMode.TEXT, None, error.message)


async def _given_vector(services: Services, call: Call, given: Sequence[float]) -> QueryVector:
    """Before a vector is refused for its length, the project is asked whether it was switched meanwhile."""
    model = (await find_models(services, call)).active
    if len(given) != model.dimension:
        model = (await read_models(services, call)).active
    return QueryVector(unit_vector(given, model.dimension), model)


def unit_vector(given: Sequence[float], dimension: int) -> Vector:
    """The caller's vector scaled to length 1.

    Raises:
        DomainError: INVALID_EMBEDDING.
    """
    length = math.sqrt(math.fsum(value * value for value in given))
    if len(given) != dimension or not math.isfinite(length) or length == 0:
        message = f"query_embedding must hold {dimension} finite numbers, not all zero"
        metadata = {"dimension": str(dimension)}
        raise DomainError(Reason.INVALID_EMBEDDING, message, "options.query_embedding", metadata)
    return [value / length for value in given]


async def search(
    connection: TenantConnection,
    searched: Searched,
    prepared: Prepared,
    read: Reader[Item],
    include_embedding: bool = False,
) -> SearchResult[Item]:
    """Both legs, one order, then the rows of those that made it.

    Raises:
        ModelSwitched: the vector is not of the model that the store is read by.
    """
    check_model(connection, prepared.embedded)
    async with connection.pipeline():
        ranked, exact = await _rank(connection, searched, prepared)
        item_ids = [fused.item_id for fused in ranked]
        items = await read(connection, item_ids) if item_ids else {}
        vectors = (
            await get_vectors(connection, searched, item_ids, prepared.vector)
            if include_embedding and item_ids
            else {}
        )
    hits = [
        Hit(
            items[fused.item_id],
            fused.score,
            _distance(fused),
            fused.legs,
            vectors.get(fused.item_id),
        )
        for fused in ranked
        if fused.item_id in items
    ]
    return SearchResult(hits, prepared.mode, prepared.degraded_reason, exact)


def _distance(fused: Fused) -> float | None:
    """Euclidean, of unit vectors: sqrt(2 - 2 cos)."""
    similarity = fused.legs.semantic_score
    return None if similarity is None else math.sqrt(max(2 - 2 * similarity, 0.0))


async def _rank(
    connection: TenantConnection, searched: Searched, prepared: Prepared
) -> tuple[Sequence[Fused], bool]:
    options = prepared.options
    limit = max(options.top_k * CANDIDATES_PER_HIT, LEAST_CANDIDATES)
    leg = VectorLeg((), exact=True)
    if prepared.vector is not None:
        leg = _similar_enough(
            await search_by_vector(connection, searched, prepared.vector, limit), options.min_similarity
        )
    text: Sequence[Candidate] = ()
    if prepared.mode is not SearchMode.SEMANTIC:
        near = [found.item_id for found in leg.candidates]
        text = await search_by_text(connection, searched, options.query, limit, also=near)
    match prepared.mode:
        case SearchMode.TEXT:
            return rank_text(text, top_k=options.top_k), leg.exact
        case SearchMode.SEMANTIC:
            return rank_semantic(leg.candidates, top_k=options.top_k), leg.exact
        case SearchMode.HYBRID:
            return fuse(text, leg.candidates, options.fusion, top_k=options.top_k), leg.exact


def _similar_enough(leg: VectorLeg, least: float | None) -> VectorLeg:
    if least is None:
        return leg
    return replace(leg, candidates=[found for found in leg.candidates if found.score >= least])
