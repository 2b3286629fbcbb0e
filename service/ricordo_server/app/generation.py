"""Memories made of turns or of given facts, while the caller waits."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ricordo_server.app.consolidation import Prepared, consolidate, prepare, preview
from ricordo_server.app.extraction import learn, passage_of
from ricordo_server.app.permissions import check_may_write_in
from ricordo_server.app.services import Services
from ricordo_server.app.sessions import not_found
from ricordo_server.app.transactions import in_store
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.candidates import keep_storable, keep_topics
from ricordo_server.domain.consolidation import Trust
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.extraction import Candidate, Quote, Topic, Utterance
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.domain.generation import (
    DirectFacts,
    Dropped,
    Generation,
    GenerationOrder,
    GenerationRules,
    InlineTurns,
    Learned,
    Origin,
    Passage,
    SessionRange,
    heard,
    memory_scope,
)
from ricordo_server.domain.limits import MAX_BATCH_ITEMS
from ricordo_server.domain.memory import MemoryKind, MemorySource
from ricordo_server.domain.scope import Scope


async def generate_memories(
    services: Services,
    call: Call,
    store_id: str,
    order: GenerationOrder,
    rules: GenerationRules,
    *,
    dry_run: bool,
) -> Generation:
    """Extracts, consolidates and writes; with `dry_run` says what would be written.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED, EXTRACTOR_UNAVAILABLE, EXTRACTION_FAILED,
            RATE_LIMIT_EXCEEDED.
    """
    if order.scope is not None:
        check_may_write_in(call.principal, order.scope, "request.scope")
    if isinstance(order.source, SessionRange):
        check_may_write_in(call.principal, order.source.scope, "session.scope")
    try:
        prepared = await _prepare(services, call, store_id, order, rules)
    except StepError as failure:
        raise as_refusal(failure) from failure
    if dry_run:
        return await preview(services, call, store_id, prepared, rules)
    return await consolidate(services, call, store_id, prepared, rules)


async def _prepare(
    services: Services, call: Call, store_id: str, order: GenerationOrder, rules: GenerationRules
) -> list[Prepared]:
    async with in_store(services.database, call, store_id) as connection:
        policy = _with_topics(connection.policy_for(_owner(order)), rules.allowed_topics)
        read = await _read(connection, policy, order)
    if isinstance(read, Passage):
        learned = [await learn(services, call, policy, read, kind) for kind in order.kinds]
    else:
        learned = [read]
    return [await prepare(services, call, store_id, policy, each, rules) for each in learned]


def _owner(order: GenerationOrder) -> Scope:
    """Whose the memories will be."""
    if order.scope is None and isinstance(order.source, SessionRange):
        return memory_scope(order.source.scope)
    return order.scope or Scope()


def _with_topics(policy: ExtractionPolicy, allowed: Sequence[str]) -> ExtractionPolicy:
    """The allowed topics in place of the project's, with its descriptions of those that it knows."""
    known = {topic.name: topic for topic in policy.topics}
    return replace(policy, topics=[known.get(name, Topic(name)) for name in allowed]) if allowed else policy


async def _read(
    connection: TenantConnection, policy: ExtractionPolicy, order: GenerationOrder
) -> Passage | Learned:
    """Facts are learned as they are; turns are still to be read."""
    scope = order.scope or Scope()
    match order.source:
        case DirectFacts():
            return _stated(order.source, scope, policy)
        case InlineTurns(turns, zone):
            return Passage(scope, heard(turns, zone or policy.zone({})))
        case SessionRange() as run:
            session = await sessions_db.get_session(connection, run.scope)
            if session is None:
                raise not_found(run.scope)
            passage = passage_of(session, policy, await turns_db.list_run(connection, run, MAX_BATCH_ITEMS))
            return replace(passage, scope=order.scope or passage.scope)


def _stated(given: DirectFacts, scope: Scope, policy: ExtractionPolicy) -> Learned:
    """What a caller states rests on nothing but its word: each fact is its own quotation."""
    now = datetime.now(UTC)
    candidates = [
        Candidate(MemoryKind.SEMANTIC, fact.content, [Quote(number, fact.content)], topics=fact.topics)
        for number, fact in enumerate(given.facts)
    ]
    storable, invalid = keep_storable(candidates)
    topical, off_topic = keep_topics(storable, [topic.name for topic in policy.topics])
    return Learned(
        MemoryKind.SEMANTIC,
        scope,
        Origin(),
        topical,
        [Utterance("", Trust.USER, fact.content, now) for fact in given.facts],
        source=MemorySource.AGENT,
        dropped=Dropped(invalid=invalid, off_topic=off_topic),
    )


def as_refusal(failure: StepError) -> DomainError:
    if failure.failure_class is FailureClass.CONTENT:
        return DomainError(Reason.EXTRACTION_FAILED, f"{failure}: try fewer turns, or another model")
    message = f"{failure}: try again later, or ask the operator to look at the endpoint"
    return DomainError(
        Reason.EXTRACTOR_UNAVAILABLE, message, metadata={"failure_class": failure.failure_class}
    )
