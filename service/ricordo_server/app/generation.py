"""Memories made of turns or of given facts, while the caller waits or as an operation."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ricordo_server.app.consolidation import Checkpoint, Prepared, consolidate, prepare, preview
from ricordo_server.app.distillation import distill, preview_distillation
from ricordo_server.app.extraction import learn, passage_of
from ricordo_server.app.operations import (
    finish_operation,
    get_open_request,
    note_failure,
    start_operation,
)
from ricordo_server.app.permissions import check_may_write_in
from ricordo_server.app.profiles import read_profiles
from ricordo_server.app.services import Services
from ricordo_server.app.sessions import not_found
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.candidates import keep_storable, keep_topics
from ricordo_server.domain.consolidation import Trust
from ricordo_server.domain.errors import RETRYABLE, DomainError, Reason, invalid_field
from ricordo_server.domain.extraction import Candidate, Quote, Utterance
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
from ricordo_server.domain.operation import Operation, OperationDraft, OperationKind
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import Session


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
    _check_may_order(call, order)
    try:
        reading = await _read(services, call, store_id, order, rules)
        if order.asks_documents:
            return await _distill(services, call, store_id, reading, rules, dry_run=dry_run)
        prepared = await _prepare(services, call, store_id, reading, rules)
    except StepError as failure:
        raise as_refusal(failure) from failure
    if dry_run:
        return await preview(services, call, store_id, prepared, rules)
    return await consolidate(services, call, store_id, prepared, rules)


def _check_may_order(call: Call, order: GenerationOrder) -> None:
    if order.scope is not None:
        check_may_write_in(call.principal, order.scope, "request.scope")
    if isinstance(order.source, SessionRange):
        check_may_write_in(call.principal, order.source.scope, "session.scope")


async def start_generation(
    services: Services, call: Call, store_id: str, order: GenerationOrder, request: bytes
) -> Operation:
    """The same as an operation, whose job reads `request`.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    _check_may_order(call, order)

    async def work(connection: TenantConnection) -> Operation:
        scope = order.scope or Scope()
        if isinstance(order.source, SessionRange):
            session = await _session_of(connection, order.source)
            scope = order.scope or memory_scope(session.scope)
        draft = OperationDraft(OperationKind.GENERATE_MEMORIES, scope, request)
        return await start_operation(connection, draft)

    return await write_store(services.database, call, store_id, work)


async def run_generation(
    services: Services,
    call: Call,
    store_id: str,
    operation_id: str,
    decode: Callable[[bytes], tuple[GenerationOrder, GenerationRules]],
) -> None:
    """Does what an operation asks, once however often this runs; what cannot succeed later ends it with an error.

    Raises:
        StepError: it may be had later.
        DomainError: the same, of the database.
        OperationEnded: there is nothing to do any more.
    """
    order, rules = decode(await get_open_request(services, call, store_id, operation_id))

    async def checkpoint(connection: TenantConnection, generation: Generation) -> None:
        await finish_operation(connection, operation_id, generation)

    async def go_on() -> None:
        await get_open_request(services, call, store_id, operation_id)

    try:
        reading = await _read(services, call, store_id, order, rules)
        if order.asks_documents:
            await _distill(services, call, store_id, reading, rules, checkpoint)
        else:
            prepared = await _prepare(services, call, store_id, reading, rules, go_on)
            await consolidate(services, call, store_id, prepared, rules, checkpoint)
    except DomainError as refusal:
        if refusal.reason in RETRYABLE:
            raise
        await note_failure(services, call, store_id, operation_id, FailureClass.CONTENT, refusal)


async def _go_on() -> None:
    """Nobody stops a call but its own deadline."""


@dataclass(frozen=True)
class Reading:
    """What is to be learned from, by which policy; facts that were given are learned as they are."""

    order: GenerationOrder
    policy: ExtractionPolicy
    source: Passage | Learned


async def _read(
    services: Services, call: Call, store_id: str, order: GenerationOrder, rules: GenerationRules
) -> Reading:
    async with in_store(services.database, call, store_id) as connection:
        policy = connection.policy_for(_owner(order)).about(rules.allowed_topics).told(order.instructions)
        source = await _read_source(connection, policy, order, rules)
        profiles = await read_profiles(connection, _owner(order))
    if isinstance(source, Passage):
        source = replace(source, profiles=profiles)
    if order.instructions and not services.choose_extractor(policy.endpoint).follows_instructions:
        message = "turns are read by rules here, which no text tells anything: leave instructions out, or use a model"
        raise invalid_field("instructions", message)
    return Reading(order, policy, source)


async def _learn(services: Services, call: Call, reading: Reading, kind: MemoryKind) -> Learned:
    if isinstance(reading.source, Learned):
        return reading.source
    return await learn(services, call, reading.policy, reading.source, kind)


async def _prepare(
    services: Services,
    call: Call,
    store_id: str,
    reading: Reading,
    rules: GenerationRules,
    go_on: Callable[[], Awaitable[None]] = _go_on,
) -> list[Prepared]:
    """`go_on` is asked between two steps that take long; it raises where nobody wants the rest."""
    prepared: list[Prepared] = []
    for kind in reading.order.kinds:
        await go_on()
        learned = await _learn(services, call, reading, kind)
        prepared.append(await prepare(services, call, store_id, reading.policy, learned, rules))
    return prepared


async def _distill(
    services: Services,
    call: Call,
    store_id: str,
    reading: Reading,
    rules: GenerationRules,
    checkpoint: Checkpoint | None = None,
    *,
    dry_run: bool = False,
) -> Generation:
    learned = await _learn(services, call, reading, MemoryKind.SEMANTIC)
    if dry_run:
        return await preview_distillation(services, call, store_id, reading.policy, learned, rules)
    return await distill(
        services, call, store_id, reading.policy, learned, rules, checkpoint, turns_here=True
    )


def _owner(order: GenerationOrder) -> Scope:
    """Whose the memories will be."""
    if order.scope is None and isinstance(order.source, SessionRange):
        return memory_scope(order.source.scope)
    return order.scope or Scope()


async def _read_source(
    connection: TenantConnection, policy: ExtractionPolicy, order: GenerationOrder, rules: GenerationRules
) -> Passage | Learned:
    """Facts are learned as they are; turns are still to be read."""
    scope = order.scope or Scope()
    match order.source:
        case DirectFacts():
            return _stated(order.source, scope, rules.allowed_topics)
        case InlineTurns(turns, zone):
            return Passage(scope, heard(turns, zone or policy.zone({})))
        case SessionRange() as run:
            session = await _session_of(connection, run)
            passage = passage_of(session, policy, await turns_db.list_run(connection, run, MAX_BATCH_ITEMS))
            return replace(passage, scope=order.scope or passage.scope)


async def _session_of(connection: TenantConnection, run: SessionRange) -> Session:
    session = await sessions_db.get_session(connection, run.scope)
    if session is None:
        raise not_found(run.scope)
    return session


def _stated(given: DirectFacts, scope: Scope, allowed_topics: Sequence[str]) -> Learned:
    """What a caller states rests on nothing but its word: each fact is its own quotation, and of any topic that the
    call allows. Topics of a policy are of what is read in turns.
    """
    now = datetime.now(UTC)
    candidates = [
        Candidate(MemoryKind.SEMANTIC, fact.content, [Quote(number, fact.content)], topics=fact.topics)
        for number, fact in enumerate(given.facts)
    ]
    storable, invalid = keep_storable(candidates)
    topical, off_topic = keep_topics(storable, allowed_topics)
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
    """What a caller is told of a step that failed."""
    if failure.failure_class is FailureClass.CONTENT:
        return DomainError(Reason.EXTRACTION_FAILED, f"{failure}: try fewer turns, or another model")
    message = f"{failure}: try again later, or ask the operator to look at the endpoint"
    return DomainError(
        Reason.EXTRACTOR_UNAVAILABLE, message, metadata={"failure_class": failure.failure_class}
    )
