"""One kind out of one snapshot: the memories and the mark that it is done are committed together."""

import logging
from collections.abc import Callable

from ricordo_server.app.extraction import extract, passage_of
from ricordo_server.app.profiles import read_profiles
from ricordo_server.app.services import Services
from ricordo_server.app.session_operations import add_generation, note_given_up
from ricordo_server.app.transactions import in_store
from ricordo_server.db import operations as operations_db
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.generation import (
    DEFAULT_RULES,
    Generation,
    GenerationRules,
    Passage,
    SessionRange,
    memory_scope,
)
from ricordo_server.domain.memory import EpisodicDetails, MemoryKind
from ricordo_server.domain.operation import Made
from ricordo_server.domain.promotion import MOST_SNAPSHOT_TURNS
from ricordo_server.domain.snapshot import Snapshot

DecodeOptions = Callable[[bytes], GenerationRules]

log = logging.getLogger("ricordo.extraction")


class AlreadyExtracted(Exception):  # noqa: N818 - no error: somebody else was faster
    """The kind was extracted from the snapshot meanwhile, or the snapshot is gone; nothing is written again."""


async def extract_snapshot(
    services: Services, call: Call, store_id: str, snapshot_id: str, kind: MemoryKind, decode: DecodeOptions
) -> None:
    """Extracts the kind, once however often this runs; `decode` reads what was said for the snapshot.

    Raises:
        StepError: nothing could be extracted; its class says when to try again.
        DomainError: the database refused.
    """
    async with in_store(services.database, call, store_id) as connection:
        snapshot = await snapshots_db.get_pending(connection, snapshot_id, kind)
        if snapshot is None:
            return
        rules = DEFAULT_RULES if snapshot.options is None else decode(snapshot.options)
        policy = connection.policy_for(snapshot.scope).about(rules.allowed_topics)
        passage = await _read(connection, policy, snapshot)
    if passage is None:
        return

    async def checkpoint(connection: TenantConnection, generation: Generation) -> None:
        before = await _hold_operation(connection, snapshot)
        is_whole = not generation.dropped.incomplete
        if not await snapshots_db.finish_extraction(connection, snapshot_id, kind, is_whole=is_whole):
            raise AlreadyExtracted
        if summary := summary_of(generation):
            await snapshots_db.set_summary(connection, snapshot_id, summary)
        if snapshot.operation_id is not None and before is not None:
            await add_generation(connection, snapshot.operation_id, before, generation)

    try:
        generation = await extract(services, call, store_id, policy, passage, kind, rules, checkpoint)
    except AlreadyExtracted:
        return
    dropped = vars(generation.dropped)
    log.info("extracted", extra={"kind": kind, "memories": len(generation.memories), "dropped": dropped})


async def _hold_operation(connection: TenantConnection, snapshot: Snapshot) -> Made | None:
    """Before its extractions are touched, as whoever cancels it does. None: there is none, or it is over."""
    if snapshot.operation_id is None:
        return None
    return await operations_db.hold_open(connection, snapshot.operation_id)


async def _read(connection: TenantConnection, policy: ExtractionPolicy, snapshot: Snapshot) -> Passage | None:
    """The turns that are still there; None when their session is gone."""
    session = await sessions_db.get_session(connection, snapshot.scope)
    if session is None:
        return None
    run = SessionRange(snapshot.scope, snapshot.from_seq, snapshot.to_seq)
    before = SessionRange(snapshot.scope, snapshot.context_from_seq, snapshot.from_seq - 1)
    turns = await turns_db.list_run(connection, run, MOST_SNAPSHOT_TURNS)
    context = await turns_db.list_run(connection, before, MOST_SNAPSHOT_TURNS)
    profiles = await read_profiles(connection, memory_scope(snapshot.scope))
    return passage_of(session, policy, turns, context, profiles=profiles, snapshot_id=snapshot.snapshot_id)


def summary_of(generation: Generation) -> str:
    """That of the episodes that were made."""
    details = [made.memory.details for made in generation.memories]
    return "\n".join(each.summary for each in details if isinstance(each, EpisodicDetails) and each.summary)


async def note_failure(
    services: Services,
    call: Call,
    store_id: str,
    snapshot_id: str,
    kind: MemoryKind,
    failure_class: FailureClass,
    error: str,
    *,
    is_final: bool,
) -> None:
    """Keeps that an attempt failed, and why; after a final one the kind stays out of this snapshot."""
    async with in_store(services.database, call, store_id) as connection:
        snapshot = await snapshots_db.get_pending(connection, snapshot_id, kind)
        if snapshot is None:
            return
        made = await _hold_operation(connection, snapshot) if is_final else None
        await snapshots_db.note_failure(
            connection, snapshot_id, kind, failure_class, error, is_final=is_final
        )
        if snapshot.operation_id is not None and made is not None:
            await note_given_up(connection, snapshot.operation_id, made)
