"""Requests to make memories, and what came of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypedDict

from ricordo import models
from ricordo._convert import enums, memories, paging, scopes, values
from ricordo._convert.sendable import sendable
from ricordo.errors import MemoryClientError
from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import generation_pb2, held_memory_pb2


class GenerationOptions(TypedDict, total=False):
    """The arguments of `generate`, which explains them."""

    session: models.SessionRange | None
    turns: Sequence[models.SpokenTurn]
    facts: Sequence[models.DirectFact | str]
    scope: models.Scope | None
    kinds: Collection[models.MemoryKind | str]
    time_zone: str
    instructions: str
    consolidate: bool
    allowed_topics: Sequence[models.Topic]
    metadata: Mapping[str, object] | None
    metadata_merge_strategy: models.MetadataMergeStrategy | str | None
    revision_options: models.RevisionOptions | None
    dry_run: bool
    store: str | None
    request_id: str | None
    timeout: float | None


@sendable
def generate_request(
    *,
    session: models.SessionRange | None,
    turns: Sequence[models.SpokenTurn],
    facts: Sequence[models.DirectFact | str],
    scope: models.Scope | None,
    kinds: Collection[models.MemoryKind | str],
    time_zone: str,
    instructions: str,
    consolidate: bool,
    allowed_topics: Sequence[models.Topic],
    metadata: Mapping[str, object],
    metadata_merge_strategy: models.MetadataMergeStrategy | str | None,
    revision_options: models.RevisionOptions | None,
    dry_run: bool,
    in_background: bool,
    store: str | None,
    request_id: str | None,
) -> pb.GenerateMemoriesRequest:
    """Asks to make memories.

    Raises:
        MemoryClientError: None of session, turns and facts was given, or several.
    """
    if sum(map(bool, (session, turns, facts))) != 1:
        raise MemoryClientError("give one of session, turns and facts: memories are made of one of them")
    return pb.GenerateMemoriesRequest(
        store_id=store or "",
        scope=scopes.encode_scope(scope) if scope else None,
        session=_encode_range(session) if session else None,
        turns=pb.InlineTurns(turns=map(_encode_turn, turns), time_zone=time_zone) if turns else None,
        facts=pb.DirectFacts(facts=map(_encode_fact, facts)) if facts else None,
        kinds=[enums.MEMORY_KIND.encode(kind) for kind in kinds],
        disable_consolidation=not consolidate,
        allowed_topics=[memories.encode_topic(topic) for topic in allowed_topics],
        metadata=values.encode_metadata(metadata),
        metadata_merge_strategy=enums.METADATA_MERGE_STRATEGY.encode(metadata_merge_strategy),
        revision_options=memories.encode_revision_options(revision_options),
        dry_run=dry_run,
        in_background=in_background,
        instructions=instructions,
        request_id=paging.fresh(request_id),
    )


@sendable
def generation_options(
    *,
    consolidate: bool,
    allowed_topics: Sequence[models.Topic],
    metadata: Mapping[str, object] | None,
    metadata_merge_strategy: models.MetadataMergeStrategy | str | None,
    revision_options: models.RevisionOptions | None,
) -> generation_pb2.GenerationOptions | None:
    """How what is learned meets the memories there are; None when nothing is said."""
    options = generation_pb2.GenerationOptions(
        disable_consolidation=not consolidate,
        allowed_topics=[memories.encode_topic(topic) for topic in allowed_topics],
        metadata=values.encode_metadata(metadata or {}),
        metadata_merge_strategy=enums.METADATA_MERGE_STRATEGY.encode(metadata_merge_strategy),
        revision_options=memories.encode_revision_options(revision_options),
    )
    return options if options.ByteSize() else None


def _encode_range(given: models.SessionRange) -> pb.SessionRange:
    return pb.SessionRange(
        scope=scopes.encode_scope(given.scope),
        from_turn_seq=given.from_turn_seq or 0,
        to_turn_seq=given.to_turn_seq or 0,
        start_time=values.encode_time(given.start_time, "session.start_time"),
        end_time=values.encode_time(given.end_time, "session.end_time"),
    )


def _encode_turn(turn: models.SpokenTurn) -> pb.InlineTurn:
    event_time = values.encode_time(turn.event_time, "event_time")
    return pb.InlineTurn(role=turn.role, content=turn.content, event_time=event_time)


def _encode_fact(fact: models.DirectFact | str) -> pb.DirectFact:
    if isinstance(fact, str):
        return pb.DirectFact(content=fact)
    return pb.DirectFact(content=fact.content, topics=[memories.encode_topic(topic) for topic in fact.topics])


def decode_generation(
    reply: pb.GenerateMemoriesResponse | generation_pb2.GenerationResult,
) -> models.Generation:
    """Decodes what was made."""
    report = reply.report
    return models.Generation(
        memories=_decode_generated(reply.memories),
        known=report.known_count,
        unquoted=report.unquoted_count,
        invalid=report.invalid_count,
        off_topic=report.off_topic_count,
        held=report.held_count,
        incomplete=report.incomplete,
    )


def _decode_generated(
    generated: Iterable[generation_pb2.GeneratedMemory],
) -> tuple[models.GeneratedMemory, ...]:
    return tuple(
        models.GeneratedMemory(
            memory=memories.decode_memory(each.memory),
            action=enums.REVISION_ACTION.decode(each.action),
            previous_revision=each.previous_revision or None,
        )
        for each in generated
    )


@sendable
def list_held_memories_request(
    *, scope: models.ScopeFilter | None, page_size: int | None, store: str | None
) -> pb.ListHeldMemoriesRequest:
    """Asks for a page of what is held back."""
    return pb.ListHeldMemoriesRequest(
        store_id=store or "", scope=scopes.encode_scope_filter(scope), page_size=page_size
    )


@sendable
def approve_memory_request(
    held_memory_id: str, *, store: str | None, request_id: str | None
) -> pb.ApproveMemoryRequest:
    """Asks to make a memory of it."""
    return pb.ApproveMemoryRequest(
        store_id=store or "", held_memory_id=held_memory_id, request_id=paging.fresh(request_id)
    )


@sendable
def reject_memory_request(
    held_memory_id: str, *, store: str | None, request_id: str | None
) -> pb.RejectMemoryRequest:
    """Asks to erase it."""
    return pb.RejectMemoryRequest(
        store_id=store or "", held_memory_id=held_memory_id, request_id=paging.fresh(request_id)
    )


def decode_held_memory(held: held_memory_pb2.HeldMemory) -> models.HeldMemory:
    """Decodes what is held back."""
    return models.HeldMemory(
        held_memory_id=held.held_memory_id,
        memory=memories.decode_memory(held.memory),
        quotations=tuple(
            models.Quotation(
                turn_id=each.turn_id,
                role=each.role,
                event_time=values.decode_time(each.event_time),
                text=each.text,
            )
            for each in held.quotations
        ),
        create_time=values.decode_time(held.create_time),
    )


def decode_approval(reply: pb.ApproveMemoryResponse) -> tuple[models.GeneratedMemory, ...]:
    """Decodes what came of it."""
    return _decode_generated(reply.memories)


def read_generation(operation: models.Operation) -> models.Generation:
    """What an operation that generates memories made."""
    return operation.generation or models.Generation()
