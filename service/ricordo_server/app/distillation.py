"""Facts become lines of documents: to the rules of consolidation a line is what a memory is to a fact.

What a line says already is not written again, what contradicts one takes its place, and everything else goes to the
document of its topic. The documents are read and compared first, and written only if they still are as they were.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from ricordo_server.app import embeddings
from ricordo_server.app.consolidation import NEAREST, RELATED_COSINE
from ricordo_server.app.consolidation_writes import sources_of, weight_of
from ricordo_server.app.document_writes import DocumentEdit, write_edits
from ricordo_server.app.limiter import LlmMeter
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.consolidation import lock_consolidation
from ricordo_server.db.sources import Source
from ricordo_server.domain.call import Call
from ricordo_server.domain.consolidation import Decision, Neighbour, Outcome, Weighed, cosine, decide
from ricordo_server.domain.documents import fits, lines_of, one_line, parts_of, replaced, slug_of, with_line
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.extraction import ADD, Candidate, Compared, Proposal
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.generation import Learned
from ricordo_server.domain.memory import CUSTOM_TOPIC, MANAGED_TOPIC, Memory, MemoryKind, MemoryQuery
from ricordo_server.domain.paging import OrderBy, PageRequest
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.scope import Exactly, Scope, Visibility

# Of one user; the newest come first, and what is beyond is neither compared nor changed.
MOST_DOCUMENTS = 500
ATTEMPTS = 3

Commit = Callable[[TenantConnection], Awaitable[None]]


@dataclass(frozen=True)
class Written:
    """How many documents were made, and how many changed; and these, as they are now."""

    created: int = 0
    updated: int = 0
    documents: Sequence[Memory] = ()

    def __add__(self, other: "Written") -> "Written":
        documents = [*self.documents, *other.documents]
        return Written(self.created + other.created, self.updated + other.updated, documents)


@dataclass(frozen=True)
class Line:
    """A line of a document, as the memory that the rules of consolidation see."""

    document: Memory
    text: str
    memory: Memory


@dataclass
class Draft:
    """What a document is to say, and what its lines rest on; `document` is None of one that is new."""

    path: str
    document: Memory | None
    content: str
    rests: list[tuple[str, Candidate]] = field(default_factory=list)


async def distill(
    services: Services,
    call: Call,
    store_id: str,
    policy: ExtractionPolicy,
    learned: Learned,
    commit: Commit,
) -> Written:
    """Writes what was learned of one user into that user's documents; `commit` belongs to the same transaction.

    Raises:
        StepError: no proposal could be had.
        DomainError: the database refused, or the commit did; WRITE_CONFLICT when others kept changing the documents.
    """
    for attempt in range(1, ATTEMPTS + 1):
        edits = await _plan(services, call, store_id, policy, learned)
        try:
            written = await _write(services, call, store_id, learned, edits, commit)
            break
        except DomainError as error:
            if error.reason is not Reason.WRITE_CONFLICT or attempt == ATTEMPTS:
                raise
    for document in written.documents:
        await embeddings.complete_vectors(services, call, store_id, document, lambda memory: memory)
    return written


async def _write(
    services: Services,
    call: Call,
    store_id: str,
    learned: Learned,
    edits: Sequence[DocumentEdit],
    commit: Commit,
) -> Written:
    async def work(connection: TenantConnection) -> Written:
        await lock_consolidation(connection, learned.scope, MemoryKind.DOCUMENT)
        documents = await write_edits(connection, learned, edits)
        await commit(connection)
        created = sum(edit.document is None for edit in edits)
        updated = sum(edit.document is not None and edit.content != edit.document.content for edit in edits)
        return Written(created, updated, documents)

    return await write_store(services.database, call, store_id, work)


async def list_documents(connection: TenantConnection, scope: Scope) -> list[Memory]:
    """The private documents of exactly one user and these labels, of no session; last changed first."""
    query = MemoryQuery(Exactly(scope), Visibility.PRIVATE, [MemoryKind.DOCUMENT])
    newest = [OrderBy("update_time", descending=True)]
    return list(
        (await memories_db.list_memories(connection, query, newest, PageRequest(MOST_DOCUMENTS))).items
    )


async def _plan(
    services: Services, call: Call, store_id: str, policy: ExtractionPolicy, learned: Learned
) -> list[DocumentEdit]:
    if not learned.candidates:
        return []
    async with in_store(services.database, call, store_id) as connection:
        documents = await list_documents(connection, learned.scope)
        model_id = connection.embedding_model.model_id
    lines = _lines_near(learned, documents)
    texts = [*(candidate.content for candidate in learned.candidates), *(line.text for line in lines)]
    vectors = [_first(each, model_id) for each in await embeddings.embed_documents(services, call, texts)]
    count = len(learned.candidates)
    weighed = [
        Weighed(candidate, vector, *weight_of(learned, candidate))
        for candidate, vector in zip(learned.candidates, vectors[:count], strict=True)
    ]
    neighbours = [Neighbour(line.memory, vector) for line, vector in zip(lines, vectors[count:], strict=True)]
    proposals = await _ask(services, call, policy, weighed, neighbours)
    proposed = [replace(each, proposal=proposals.get(at, ADD)) for at, each in enumerate(weighed)]
    return _edits(learned, documents, lines, decide(proposed, neighbours))


def _lines_near(learned: Learned, documents: Sequence[Memory]) -> list[Line]:
    """The lines of the documents in which the candidates' topics are."""
    slugs = {_slug(candidate) for candidate in learned.candidates}
    return [
        Line(
            document,
            text,
            replace(document, memory_id=f"{document.memory_id}#{number}", content=text, key=None),
        )
        for document in documents
        if any((document.key or "").startswith(f"/{slug}") for slug in slugs)
        for number, text in enumerate(lines_of(document.content))
    ]


def _slug(candidate: Candidate) -> str:
    topic = candidate.topics[0] if candidate.topics else ""
    if topic.startswith(MANAGED_TOPIC):
        topic = topic.replace("_", "-")
    return slug_of(topic.removeprefix(MANAGED_TOPIC).removeprefix(CUSTOM_TOPIC))


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


def _edits(
    learned: Learned, documents: Sequence[Memory], lines: Sequence[Line], decisions: Sequence[Decision]
) -> list[DocumentEdit]:
    drafts = {
        document.key or "": Draft(document.key or "", document, document.content) for document in documents
    }
    by_line = {line.memory.memory_id: line for line in lines}
    for decision in decisions:
        text = one_line(decision.weighed.candidate.content)
        line = by_line[decision.target.memory_id] if decision.target else None
        if decision.outcome is Outcome.CREATED:
            draft = _open_draft(drafts, decision.weighed.candidate, text)
            draft.content = with_line(draft.content, text)
        elif line is None:
            continue
        else:
            draft = drafts[line.document.key or ""]
            text = line.text if decision.outcome is Outcome.KNOWN else text
            draft.content = replaced(draft.content, line.text, text)
        draft.rests.append((text, decision.weighed.candidate))
    return [
        DocumentEdit(draft.path, draft.document, draft.content, _sources(learned, draft.rests))
        for draft in drafts.values()
        if draft.rests
    ]


def _open_draft(drafts: dict[str, Draft], candidate: Candidate, text: str) -> Draft:
    """The topic's first document that has room and may be written; what people pinned goes on in another."""
    for path in parts_of(f"/{_slug(candidate)}.md"):
        draft = drafts.setdefault(path, Draft(path, None, ""))
        is_pinned = draft.document is not None and draft.document.pinned
        if not is_pinned and fits(draft.content, text):
            return draft
    raise AssertionError("unreachable: there is always another part")


def _sources(learned: Learned, rests: Sequence[tuple[str, Candidate]]) -> list[Source]:
    """One for each turn of a ground: of a document it quotes the lines that rest there, so that they go with it."""
    quoted: dict[tuple[str, str], tuple[Source, list[str]]] = {}
    for text, candidate in rests:
        for source in sources_of(learned, candidate):
            quoted.setdefault((source.ground, source.turn_id), (source, []))[1].append(text)
    return [replace(source, quote="\n".join(dict.fromkeys(texts))) for source, texts in quoted.values()]
