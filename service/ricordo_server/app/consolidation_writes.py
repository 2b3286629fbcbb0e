"""What was decided of candidates, written: inside the transaction of whoever consolidates."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ricordo_server.app import embeddings
from ricordo_server.app.declarations import declare_changes, declare_draft
from ricordo_server.app.lifetimes import prolonged, with_expiry
from ricordo_server.app.memory_writes import insert_drafts, mark_deleted
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import attributes as attributes_db
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sources import Source, add_sources
from ricordo_server.domain.consolidation import Decision, Outcome, Trust, merge_metadata, trust_in
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.extraction import Candidate
from ricordo_server.domain.forgetting import ground_of
from ricordo_server.domain.generation import Dropped, GeneratedMemory, Generation, GenerationRules, Learned
from ricordo_server.domain.memory import Memory, MemoryDraft, MemorySource, Provenance, RevisionAction
from ricordo_server.domain.retention import Write
from ricordo_server.domain.scope import Visibility

Decided = tuple[Decision, MemoryDraft, VectorsByModel]
CREATING = frozenset({Outcome.CREATED, Outcome.REPLACED})


async def write_decisions(
    connection: TenantConnection, learned: Learned, rules: GenerationRules, decided: Sequence[Decided]
) -> Generation:
    """Writes each decision, and which turns it rests on; also where a memory says it already."""
    changed = [await _change(connection, each, rules) for each in decided]
    creating = [each for each in decided if each[0].outcome in CREATING]
    created = iter(await _create(connection, creating, rules))
    written: list[GeneratedMemory] = []
    rests: list[tuple[Memory, Sequence[Source]]] = []
    for (decision, _, _), replaced in zip(decided, changed, strict=True):
        done = [*replaced, next(created)] if decision.outcome in CREATING else replaced
        written += done
        memory = done[-1].memory if done else decision.target
        if memory is not None:
            rests.append((memory, sources_of(learned, decision.weighed.candidate)))
    await add_sources(connection, rests)
    known = sum(decision.outcome is Outcome.KNOWN for decision, _, _ in decided)
    return Generation(written, learned.dropped + Dropped(known=known))


async def _change(
    connection: TenantConnection, each: Decided, rules: GenerationRules
) -> list[GeneratedMemory]:
    """What becomes of the target; nothing of a memory that says it already."""
    decision, draft, vectors = each
    if decision.target is None or decision.outcome is Outcome.KNOWN:
        return []
    if decision.outcome is Outcome.UPDATED:
        return [await _update(connection, decision.target, draft, vectors, rules)]
    return [await _delete(connection, decision.target)]


async def _create(
    connection: TenantConnection, creating: Sequence[Decided], rules: GenerationRules
) -> list[GeneratedMemory]:
    if not creating:
        return []
    drafts = [(_admitted(connection, draft), vectors) for _, draft, vectors in creating]
    created = await insert_drafts(connection, drafts, rules.revision_options, is_extracted=True)
    if any(
        isinstance(outcome, DomainError) for outcome in created
    ):  # one that does not consolidate took a key
        raise DomainError(Reason.WRITE_CONFLICT, "a memory of this key was written meanwhile: try again")
    return [GeneratedMemory(made, RevisionAction.CREATED) for made in created if isinstance(made, Memory)]


def _admitted(connection: TenantConnection, draft: MemoryDraft) -> MemoryDraft:
    return with_expiry(connection, declare_draft(connection.settings, draft), Write.GENERATED)


async def _delete(connection: TenantConnection, target: Memory) -> GeneratedMemory:
    deleted = await mark_deleted(connection, target.memory_id, target.revision)
    if deleted is None:
        raise _changed_meanwhile()
    return GeneratedMemory(deleted, RevisionAction.DELETED, target.revision)


async def _update(
    connection: TenantConnection,
    target: Memory,
    draft: MemoryDraft,
    vectors: VectorsByModel,
    rules: GenerationRules,
) -> GeneratedMemory:
    changes = await declare_changes(connection, target.memory_id, _changes(target, draft, rules))
    lasting = prolonged(connection, changes, Write.REGENERATED)
    updated = await memories_db.update_memory(connection, target.memory_id, lasting, target.revision)
    if updated is None:
        raise _changed_meanwhile()
    if rules.metadata:
        await attributes_db.write_attributes(connection, [updated])
    kept = [target.memory_id]
    await keep_revisions(connection, kept, RevisionAction.UPDATED, rules.revision_options, is_extracted=True)
    await vectors_db.drop_memory_vectors(connection, target.memory_id)
    await vectors_db.store_memory_vectors(connection, [(updated, vectors)])
    marked = embeddings.marked(updated, connection.embedding_model, vectors)
    return GeneratedMemory(marked, RevisionAction.UPDATED, target.revision)


def _changes(target: Memory, draft: MemoryDraft, rules: GenerationRules) -> dict[str, object]:
    """What an update says anew; whose it is, its key and its life stay."""
    said = ("content", "title", "description", "topics", "details", "event_time", "event_end_time")
    changes: dict[str, object] = {name: getattr(draft, name) for name in (*said, "source", "provenance")}
    if rules.metadata:
        changes["metadata"] = merge_metadata(rules.merge, target.metadata, rules.metadata)
    return changes


def _changed_meanwhile() -> DomainError:
    return DomainError(Reason.WRITE_CONFLICT, "a memory changed while it was consolidated: try again")


def draft_of(learned: Learned, candidate: Candidate, rules: GenerationRules) -> MemoryDraft:
    return MemoryDraft(
        candidate.kind,
        candidate.content,
        key=candidate.key,
        title=candidate.title,
        description=candidate.description,
        scope=learned.scope,
        visibility=Visibility.PRIVATE,
        metadata=rules.metadata,
        topics=candidate.topics,
        details=candidate.details,
        source=learned.source,
        provenance=Provenance(
            session_id=learned.origin.session_id,
            turn_ids=[source.turn_id for source in sources_of(learned, candidate)],
            snapshot_id=learned.origin.snapshot_id,
            extraction_model=learned.model,
            prompt_version=learned.prompt_version,
            trust=weight_of(learned, candidate)[0] if learned.source is MemorySource.EXTRACTION else "",
        ),
        event_time=candidate.event_time,
        event_end_time=candidate.event_end_time,
    )


def sources_of(learned: Learned, candidate: Candidate) -> list[Source]:
    """The quoted turns, each once, as one ground; what a caller handed over is no turn."""
    quoted = {learned.utterances[quote.utterance].turn_id: quote for quote in reversed(candidate.quotes)}
    quoted.pop("", None)
    ground = ground_of(list(quoted))
    said = [(learned.utterances[quote.utterance], quote.text) for quote in quoted.values()]
    return [
        Source(each.turn_id, ground, each.role, each.time, text, learned.origin.snapshot_id)
        for each, text in said
    ]


def weight_of(learned: Learned, candidate: Candidate) -> tuple[Trust, datetime]:
    """How far the quoted turns are trusted, and when the last of them was said."""
    said_time = max(learned.utterances[quote.utterance].time for quote in candidate.quotes)
    return trust_in(candidate, learned.utterances), said_time


def preview_decision(
    connection: TenantConnection,
    learned: Learned,
    rules: GenerationRules,
    decided: Iterable[tuple[Decision, MemoryDraft]],
) -> Generation:
    """What `write_decisions` would answer. What would be new has no id and no revision yet."""
    shown: list[GeneratedMemory] = []
    known = 0
    for decision, draft in decided:
        done = list(_preview(connection, decision, draft, rules))
        shown += done
        known += not done
    return Generation(shown, learned.dropped + Dropped(known=known))


def _preview(
    connection: TenantConnection, decision: Decision, draft: MemoryDraft, rules: GenerationRules
) -> Iterator[GeneratedMemory]:
    target, now = decision.target, datetime.now(UTC)
    if decision.outcome is Outcome.KNOWN:
        return
    if target is None:
        yield GeneratedMemory(memory_of(connection, draft, now), RevisionAction.CREATED)
        return
    next_revision = target.revision + 1
    if decision.outcome is Outcome.UPDATED:
        changes: Any = prolonged(connection, _changes(target, draft, rules), Write.REGENERATED)
        updated = replace(target, **changes, revision=next_revision, update_time=now)
        yield GeneratedMemory(updated, RevisionAction.UPDATED, target.revision)
        return
    gone = replace(target, revision=next_revision, delete_time=now)
    yield GeneratedMemory(gone, RevisionAction.DELETED, target.revision)
    yield GeneratedMemory(memory_of(connection, draft, now), RevisionAction.CREATED)


def memory_of(connection: TenantConnection, draft: MemoryDraft, now: datetime) -> Memory:
    """What the draft would be as a memory; it has no id."""
    output = {"store_id": connection.store_name, "revision": 0, "create_time": now, "update_time": now}
    draft = with_expiry(connection, draft, Write.GENERATED)
    missing = {"delete_time": None, "has_embedding": False, "embedding_model": "", "memory_id": ""}
    return Memory(**{**vars(draft), **output, **missing})
