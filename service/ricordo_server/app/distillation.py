"""Facts become lines of documents: to the rules of consolidation a line is what a memory is to a fact.

What a line says already is not written again, what contradicts one takes its place, and everything else goes to the
document of its topic. The documents are read and compared first. What becomes of each fact is decided by the
documents as they are in the transaction that writes them: writers go one after the other, and none is in vain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ricordo_server.app import embeddings
from ricordo_server.app.consolidation import NEAREST, RELATED_COSINE, Checkpoint
from ricordo_server.app.consolidation_writes import sources_of, weight_of
from ricordo_server.app.document_plans import Line, about, edits_of, path_of, split_lines
from ricordo_server.app.document_writes import DocumentEdit, preview_edits, write_edits
from ricordo_server.app.limiter import LlmMeter
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.consolidation import lock_consolidation
from ricordo_server.db.held_memories import hold_candidates
from ricordo_server.db.sources import get_line_times
from ricordo_server.db.turns import hold_turns
from ricordo_server.domain.call import Call
from ricordo_server.domain.consolidation import (
    Neighbour,
    Outcome,
    Weighed,
    cosine,
    decide,
)
from ricordo_server.domain.documents import one_line
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.extraction import ADD, Compared, Proposal
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.filter import Filter
from ricordo_server.domain.generation import Dropped, Generation, GenerationRules, Learned
from ricordo_server.domain.memory import Memory, MemoryKind, MemoryQuery
from ricordo_server.domain.paging import OrderBy, PageRequest
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.scope import Exactly, Scope

# Of one user; the newest come first, and what is beyond is neither compared nor changed.
MOST_DOCUMENTS = 500


@dataclass(frozen=True)
class Comparison:
    """The candidates with what was found out before the transaction, and the vectors of lines by what they say."""

    weighed: Sequence[Weighed] = ()
    vectors: Mapping[str, Vector | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What is to be written, and how many candidates a line says already."""

    edits: Sequence[DocumentEdit] = ()
    known: int = 0


async def distill(
    services: Services,
    call: Call,
    store_id: str,
    policy: ExtractionPolicy,
    learned: Learned,
    rules: GenerationRules,
    checkpoint: Checkpoint | None = None,
    *,
    turns_here: bool = False,
) -> Generation:
    """Writes facts that were learned of one user into that user's documents; `checkpoint` is in the same transaction.

    `turns_here`: the turns are this store's, and what is learned must not outlive one that is deleted meanwhile.

    Raises:
        StepError: no proposal could be had.
        DomainError: the database refused, or the checkpoint did; WRITE_CONFLICT when turns were deleted.
    """
    comparison = await _compare(services, call, store_id, policy, learned, rules)

    async def work(connection: TenantConnection) -> Generation:
        await _hold_turns(connection, learned, turns_here=turns_here)
        await lock_consolidation(connection, learned.scope, MemoryKind.DOCUMENT)
        plan = await _plan(connection, learned, comparison)
        written = await write_edits(connection, learned, plan.edits, rules.revision_options)
        held = await hold_candidates(connection, as_held(learned), rules)
        dropped = Dropped(known=plan.known + len(learned.held) - held, held=held)
        generation = Generation(written, learned.dropped + dropped)
        if checkpoint:
            await checkpoint(connection, generation)
        return generation

    generation = await write_store(services.database, call, store_id, work)
    return await embed_generated(services, call, store_id, generation)


async def preview_distillation(
    services: Services,
    call: Call,
    store_id: str,
    policy: ExtractionPolicy,
    learned: Learned,
    rules: GenerationRules,
) -> Generation:
    """What `distill` would do now; nothing is written.

    Raises:
        StepError: no proposal could be had.
    """
    comparison = await _compare(services, call, store_id, policy, learned, rules)
    async with in_store(services.database, call, store_id) as connection:
        plan = await _plan(connection, learned, comparison)
        shown = preview_edits(connection, learned, plan.edits)
    return Generation(shown, learned.dropped + Dropped(known=plan.known, held=len(learned.held)))


async def embed_generated(
    services: Services, call: Call, store_id: str, generation: Generation
) -> Generation:
    """Vectors follow in transactions of their own, and so do they in what a repeat of the call gets."""
    for made in generation.memories:
        complete = await embeddings.complete_vectors(
            services, call, store_id, made.memory, generation.showing
        )
        generation = generation.showing(complete)
    return generation


def as_held(learned: Learned) -> Learned:
    """What is held back of it, as the lines that it would become and the documents that they would go to."""
    held = [replace(each, kind=MemoryKind.DOCUMENT, key=path_of(each)) for each in learned.held]
    return replace(learned, kind=MemoryKind.DOCUMENT, held=held)


def as_learned(held: Learned) -> Learned:
    """What was held back, as the facts that it was learned as."""
    facts = [replace(each, kind=MemoryKind.SEMANTIC, key=None) for each in held.candidates]
    return replace(held, kind=MemoryKind.SEMANTIC, candidates=facts)


async def _hold_turns(connection: TenantConnection, learned: Learned, *, turns_here: bool) -> None:
    """Those of other stores are theirs to lock, and `forget_elsewhere` follows their deletion."""
    turn_ids = [
        source.turn_id
        for candidate in (*learned.candidates, *learned.held)
        for source in sources_of(learned, candidate)
    ]
    if not await hold_turns(connection, turn_ids) and turns_here:
        raise DomainError(Reason.WRITE_CONFLICT, "turns were deleted while they were read: try again")


async def list_documents(
    connection: TenantConnection, scope: Scope, condition: Filter | None = None
) -> list[Memory]:
    """The documents of exactly one user and these labels, of no session; last changed first."""
    query = MemoryQuery(Exactly(scope), kinds=[MemoryKind.DOCUMENT], filter=condition)
    newest = [OrderBy("update_time", descending=True)]
    return list(
        (await memories_db.list_memories(connection, query, newest, PageRequest(MOST_DOCUMENTS))).items
    )


async def _plan(connection: TenantConnection, learned: Learned, comparison: Comparison) -> Plan:
    """By the documents as they are now. A line that came since the comparison is known by its words alone."""
    if not comparison.weighed:
        return Plan()
    documents, lines = await _read_lines(connection, learned)
    neighbours = _neighbours(lines, comparison.vectors)
    decisions = decide(comparison.weighed, neighbours)
    known = sum(decision.outcome is Outcome.KNOWN for decision in decisions)
    return Plan(edits_of(learned, documents, lines, decisions), known)


async def _read_lines(
    connection: TenantConnection, learned: Learned
) -> tuple[Sequence[Memory], Sequence[Line]]:
    documents = await list_documents(connection, learned.scope, about(learned.candidates))
    said_times = await get_line_times(connection, [document.memory_id for document in documents])
    return documents, split_lines(documents, said_times)


async def _compare(
    services: Services,
    call: Call,
    store_id: str,
    policy: ExtractionPolicy,
    learned: Learned,
    rules: GenerationRules,
) -> Comparison:
    if not learned.candidates:
        return Comparison()
    async with in_store(services.database, call, store_id) as connection:
        _, lines = await _read_lines(connection, learned)
        model_id = connection.embedding_model.model_id
    facts = [replace(each, content=one_line(each.content)) for each in learned.candidates]
    texts = [*(fact.content for fact in facts), *(line.text for line in lines)]
    vectors = [_first(each, model_id) for each in await embeddings.embed_documents(services, call, texts)]
    weighed = [
        Weighed(fact, vector, *weight_of(learned, fact))
        for fact, vector in zip(facts, vectors[: len(facts)], strict=True)
    ]
    by_text = {line.text: vector for line, vector in zip(lines, vectors[len(facts) :], strict=True)}
    neighbours = _neighbours(lines, by_text)
    proposals = await _ask(services, call, policy, weighed, neighbours) if rules.consolidate else {}
    proposed = [replace(each, proposal=proposals.get(at, ADD)) for at, each in enumerate(weighed)]
    return Comparison(proposed, by_text)


def _neighbours(lines: Sequence[Line], vectors: Mapping[str, Vector | None]) -> list[Neighbour]:
    return [Neighbour(line.memory, vectors.get(line.text), line.said_time) for line in lines]


def _first(vectors: VectorsByModel, model_id: int) -> Vector | None:
    return next(iter(vectors.get(model_id, ())), None)


async def _ask(
    services: Services,
    call: Call,
    policy: ExtractionPolicy,
    weighed: Sequence[Weighed],
    neighbours: Sequence[Neighbour],
) -> dict[int, Proposal]:
    """What to do with candidates that some line is related to, by their number; of what is known nothing is asked."""
    decisions = decide(weighed, neighbours)
    compared = {
        number: Compared(decision.weighed.candidate, related)
        for number, decision in enumerate(decisions)
        if decision.outcome is Outcome.CREATED and (related := _related(decision.weighed, neighbours))
    }
    if not compared:
        return {}
    extractor = services.choose_extractor(policy.endpoint)
    meter = LlmMeter(services.limiter, call.principal)
    proposals = await extractor.propose(list(compared.values()), policy.guidance(MemoryKind.SEMANTIC), meter)
    return dict(zip(compared, proposals, strict=True))


def _related(each: Weighed, neighbours: Sequence[Neighbour]) -> list[Memory]:
    if each.vector is None:
        return []
    scored = [(cosine(each.vector, near.vector), near) for near in neighbours if near.vector is not None]
    near = sorted((pair for pair in scored if pair[0] >= RELATED_COSINE), key=lambda pair: -pair[0])
    return [found.memory for _, found in near[:NEAREST]]
