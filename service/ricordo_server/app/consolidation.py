"""Candidates meet the memories there are: looked up and proposed for first, decided and written in one transaction.

Writers of one user's memories of a kind go one after the other (`lock_consolidation`), and each decides on what the
one before has written: so no fact is written twice, and none is changed by someone who did not see it as it is.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ricordo_server.app import embeddings
from ricordo_server.app.consolidation_writes import (
    draft_of,
    preview_decision,
    sources_of,
    weight_of,
    write_decisions,
)
from ricordo_server.app.limiter import LlmMeter
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.consolidation import find_related, find_same, lock_consolidation
from ricordo_server.db.held_memories import hold_candidates
from ricordo_server.db.projects import hold_settings
from ricordo_server.db.search import Searched, get_vectors
from ricordo_server.db.sources import get_said_times
from ricordo_server.db.turns import hold_turns
from ricordo_server.domain.call import Call
from ricordo_server.domain.consolidation import (
    Decision,
    MergeStrategy,
    Neighbour,
    Outcome,
    Weighed,
    decide,
)
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.extraction import ADD, Compared, Proposal
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.generation import Dropped, Generation, GenerationRules, Learned
from ricordo_server.domain.memory import Memory, MemoryDraft, MemoryKind, MemoryQuery, embedded_text
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.scope import Exactly, Visibility

# What is looked at beside a candidate; a fact has hardly more that could contradict it.
NEAREST = 5
# Below this cosine two sentences have nothing to do with one another, and no proposal is asked for.
RELATED_COSINE = 0.3

Checkpoint = Callable[[TenantConnection, Generation], Awaitable[None]]


@dataclass(frozen=True)
class Prepared:
    """Candidates of one kind with what was found out before the transaction: their vectors and what is proposed."""

    learned: Learned
    weighed: Sequence[Weighed]
    vectors: Sequence[VectorsByModel]
    drafts: Sequence[MemoryDraft]


@dataclass(frozen=True)
class Surroundings:
    """The candidates of one kind as a store sees them, the memories near them, and for each those nearest to it."""

    weighed: Sequence[Weighed]
    neighbours: Sequence[Neighbour]
    nearest: Sequence[Sequence[Memory]]


async def prepare(
    services: Services,
    call: Call,
    store_id: str,
    policy: ExtractionPolicy,
    learned: Learned,
    rules: GenerationRules,
) -> Prepared:
    """Embeds the candidates, and asks what to do with those that have a related memory.

    Raises:
        StepError: no proposal could be had.
    """
    drafts = [draft_of(learned, candidate, rules) for candidate in learned.candidates]
    vectors = await embeddings.embed_documents(services, call, [embedded_text(draft) for draft in drafts])
    weighed = [Weighed(candidate, None, *weight_of(learned, candidate)) for candidate in learned.candidates]
    prepared = Prepared(learned, weighed, vectors, drafts)
    # What has a key, or happened once, contradicts nothing.
    if not weighed or not rules.consolidate or learned.kind is not MemoryKind.SEMANTIC:
        return prepared
    async with in_store(services.database, call, store_id) as connection:
        surroundings = await _look_around(connection, prepared, rules)
    proposals = await _ask(services, call, policy, prepared, surroundings)
    return replace(
        prepared, weighed=[replace(each, proposal=proposals.get(at, ADD)) for at, each in enumerate(weighed)]
    )


async def _ask(
    services: Services,
    call: Call,
    policy: ExtractionPolicy,
    prepared: Prepared,
    surroundings: Surroundings,
) -> dict[int, Proposal]:
    """Proposals by the number of their candidate. Of what is known already nothing is asked."""
    decisions = decide(surroundings.weighed, surroundings.neighbours)
    compared = {
        number: Compared(decision.weighed.candidate, nearest)
        for number, (decision, nearest) in enumerate(zip(decisions, surroundings.nearest, strict=True))
        if decision.outcome is Outcome.CREATED and nearest
    }
    if not compared:
        return {}
    extractor = services.choose_extractor(policy.endpoint)
    guidance, meter = policy.guidance(prepared.learned.kind), LlmMeter(services.limiter, call.principal)
    proposals = await extractor.propose(list(compared.values()), guidance, meter)
    return dict(zip(compared, proposals, strict=True))


async def consolidate(
    services: Services,
    call: Call,
    store_id: str,
    prepared: Sequence[Prepared],
    rules: GenerationRules,
    checkpoint: Checkpoint | None = None,
) -> Generation:
    """Writes what the candidates come to, and the checkpoint, in one transaction.

    Raises:
        DomainError: INVALID_FIELD for metadata that the project declares otherwise, WRITE_CONFLICT.
    """
    # In one order for all writers, so that two of them never wait for each other.
    ordered = sorted(prepared, key=lambda each: (each.learned.scope.key, each.learned.kind))
    # What is learned must not outlive a turn that is deleted meanwhile.
    turn_ids = [
        source.turn_id
        for learned in (each.learned for each in ordered)
        for candidate in (*learned.candidates, *learned.held)
        for source in sources_of(learned, candidate)
    ]

    async def work(connection: TenantConnection) -> Generation:
        if rules.metadata:
            connection = await hold_settings(connection)
        generation = Generation()
        if not await hold_turns(connection, turn_ids):
            raise DomainError(Reason.WRITE_CONFLICT, "turns were deleted while they were read: try again")
        for each in ordered:
            await lock_consolidation(connection, each.learned.scope, each.learned.kind)
            decisions = await _decide(connection, each, rules)
            decided = list(zip(decisions, each.drafts, each.vectors, strict=True))
            generation += await write_decisions(connection, each.learned, rules, decided)
            generation += await _hold(connection, each.learned, rules)
        if checkpoint:
            await checkpoint(connection, generation)
        return generation

    return await write_store(services.database, call, store_id, work)


async def _hold(connection: TenantConnection, learned: Learned, rules: GenerationRules) -> Generation:
    """What waits for a review already, or had one, is known."""
    held = await hold_candidates(connection, learned, rules)
    return Generation(dropped=Dropped(known=len(learned.held) - held, held=held))


async def preview(
    services: Services, call: Call, store_id: str, prepared: Sequence[Prepared], rules: GenerationRules
) -> Generation:
    """What `consolidate` would do now; nothing is written."""
    generation = Generation()
    async with in_store(services.database, call, store_id) as connection:
        for each in prepared:
            decisions = await _decide(connection, each, rules)
            pairs = zip(decisions, each.drafts, strict=True)
            generation += preview_decision(connection, each.learned, rules, pairs)
            generation += Generation(dropped=Dropped(held=len(each.learned.held)))
    return generation


async def _decide(connection: TenantConnection, prepared: Prepared, rules: GenerationRules) -> list[Decision]:
    if not prepared.weighed:
        return []
    surroundings = await _look_around(connection, prepared, rules)
    return decide(surroundings.weighed, surroundings.neighbours)


def _as_seen(connection: TenantConnection, prepared: Prepared) -> list[Weighed]:
    """With vectors of the model that the store is read by: those of another are never compared with its rows."""
    model_id = connection.embedding_model.model_id
    return [
        replace(each, vector=next(iter(own.get(model_id, ())), None))
        for each, own in zip(prepared.weighed, prepared.vectors, strict=True)
    ]


async def _look_around(
    connection: TenantConnection, prepared: Prepared, rules: GenerationRules
) -> Surroundings:
    learned = prepared.learned
    query = MemoryQuery(Exactly(learned.scope), Visibility.PRIVATE, [learned.kind])
    searched = memories_db.searched(query)
    weighed = _as_seen(connection, prepared)
    nearest = await _nearest(connection, searched, [each.vector for each in weighed])
    texts = [candidate.content for candidate in learned.candidates]
    keys = [candidate.key for candidate in learned.candidates if candidate.key is not None]
    same = await find_same(connection, query, texts, keys)
    memory_ids = sorted({*same, *(memory_id for found in nearest for memory_id in found)})
    found = await memories_db.get_memories(connection, memory_ids) if memory_ids else {}
    vectors = await get_vectors(connection, searched, memory_ids, None) if memory_ids else {}
    said_times = await get_said_times(connection, memory_ids) if memory_ids else {}
    comparable = {name: memory for name, memory in found.items() if _is_comparable(memory, rules)}
    return Surroundings(
        weighed,
        [Neighbour(memory, vectors.get(name), said_times.get(name)) for name, memory in comparable.items()],
        [[comparable[name] for name in names if name in comparable] for names in nearest],
    )


async def _nearest(
    connection: TenantConnection, searched: Searched, vectors: Sequence[Vector | None]
) -> list[list[str]]:
    """For each vector the ids of related memories; none while the embedding model is away."""
    given = [vector for vector in vectors if vector is not None]
    found = iter(await find_related(connection, searched, given, most=NEAREST, least_cosine=RELATED_COSINE))
    return [[] if vector is None else next(found) for vector in vectors]


def _is_comparable(memory: Memory, rules: GenerationRules) -> bool:
    return rules.merge is not MergeStrategy.REQUIRE_EXACT_MATCH or memory.metadata == rules.metadata
