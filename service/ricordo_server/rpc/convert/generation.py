"""Requests to make memories, and what came of them."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from ricordo.v1 import extraction_service_pb2, generation_pb2, held_memory_pb2, memory_pb2
from ricordo_server.domain.consolidation import MergeStrategy
from ricordo_server.domain.errors import invalid_field, over_limit
from ricordo_server.domain.event_times import zone_named
from ricordo_server.domain.extraction import EXTRACTED_KINDS, Utterance
from ricordo_server.domain.generation import (
    DirectFact,
    DirectFacts,
    GeneratedMemory,
    Generation,
    GenerationOrder,
    GenerationRules,
    InlineTurns,
    SessionRange,
)
from ricordo_server.domain.held_memory import HeldMemory
from ricordo_server.domain.limits import MAX_CONTENT_BYTES, MAX_PROMPT_CHARACTERS, MAX_ROLE_BYTES
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.scope import Scope
from ricordo_server.rpc.checks import check_batch, check_text
from ricordo_server.rpc.convert.enums import decode_enum
from ricordo_server.rpc.convert.memories import decode_kinds, decode_topics, encode_memory
from ricordo_server.rpc.convert.metadata import decode_metadata_map
from ricordo_server.rpc.convert.revisions import decode_revision_options
from ricordo_server.rpc.convert.scope import decode_scope, required_scope
from ricordo_server.rpc.convert.sessions import decode_session_scope
from ricordo_server.rpc.convert.times import decode_time, encode_time
from ricordo_server.rpc.pages import omit_excess

pb = extraction_service_pb2

# Four bytes a character at most.
MAX_INSTRUCTION_BYTES = 4 * MAX_PROMPT_CHARACTERS
# Of PROFILE nothing is asked where there is no schema for the scope.
DEFAULT_KINDS = [MemoryKind.SEMANTIC, MemoryKind.PROFILE]
DOCUMENTS = (MemoryKind.DOCUMENT,)


def decode_order(request: pb.GenerateMemoriesRequest) -> GenerationOrder:
    kinds = _decode_kinds(request)
    scope = _decode_owner(request)
    told = decode_instructions(request.instructions, "instructions")
    match request.WhichOneof("source"):
        case "session":
            return GenerationOrder(_decode_range(request.session), scope, kinds, told)
        case "turns":
            return GenerationOrder(_decode_turns(request.turns), scope, kinds, told)
        case "facts":
            if told:
                raise invalid_field("instructions", "facts are kept as they are: leave instructions out")
            return GenerationOrder(_decode_facts(request.facts), scope, _kinds_of_facts(kinds))
        case _:
            raise invalid_field("source", "say what to make memories of: session, turns or facts")


def _decode_kinds(request: pb.GenerateMemoriesRequest) -> Sequence[MemoryKind]:
    """Documents are written by lines: what belongs to a memory as a whole is not theirs."""
    if MemoryKind.DOCUMENT not in decode_kinds(request.kinds):
        return decode_extracted_kinds(request.kinds)
    if len(set(request.kinds)) > 1:
        raise invalid_field("kinds", "DOCUMENT is asked for alone: make a call for the other kinds")
    if request.metadata:
        raise invalid_field("metadata", "a document has the metadata that it was written with: leave it out")
    return DOCUMENTS


def _kinds_of_facts(kinds: Sequence[MemoryKind]) -> Sequence[MemoryKind]:
    return kinds if kinds is DOCUMENTS else [MemoryKind.SEMANTIC]


def decode_extracted_kinds(numbers: Sequence[int]) -> list[MemoryKind]:
    kinds = decode_kinds(numbers) or DEFAULT_KINDS
    for number, kind in enumerate(kinds):
        if kind not in EXTRACTED_KINDS:
            accepted = ", ".join(EXTRACTED_KINDS)
            raise invalid_field(f"kinds[{number}]", f"{kind} is not extracted: give some of {accepted}")
    return list(dict.fromkeys(kinds))


def _decode_owner(request: pb.GenerateMemoriesRequest) -> Scope | None:
    """What is learned is of no session."""
    scope = decode_scope(request.scope)
    if scope.session_id is not None:
        message = (
            "what is learned is for every session: leave session_id out, or say which turns in `session`"
        )
        raise invalid_field("scope.session_id", message)
    if scope.pair_count == 0 and request.WhichOneof("source") == "session":
        return None
    return required_scope(scope, "scope")


def _decode_range(message: pb.SessionRange) -> SessionRange:
    for name in ("from_turn_seq", "to_turn_seq"):
        if getattr(message, name) < 0:
            raise invalid_field(f"session.{name}", "turns are numbered from 1; 0 is the first, or the last")
    return SessionRange(
        decode_session_scope(message.scope, "session.scope"),
        message.from_turn_seq or None,
        message.to_turn_seq or None,
        _decode_bound(message, "start_time"),
        _decode_bound(message, "end_time"),
    )


def _decode_bound(message: pb.SessionRange, name: str) -> datetime | None:
    return decode_time(getattr(message, name), f"session.{name}") if message.HasField(name) else None  # type: ignore[arg-type]


def _decode_turns(message: pb.InlineTurns) -> InlineTurns:
    check_batch("turns.turns", len(message.turns))
    now = datetime.now(UTC)
    turns = [_decode_turn(turn, f"turns.turns[{number}]", now) for number, turn in enumerate(message.turns)]
    return InlineTurns(turns, decode_zone(message.time_zone, "turns.time_zone"))


def _decode_turn(message: pb.InlineTurn, field: str, now: datetime) -> Utterance:
    given = message.HasField("event_time")
    return Utterance(
        "",
        check_text(f"{field}.role", message.role, limit=MAX_ROLE_BYTES, required=True),
        check_text(f"{field}.content", message.content, limit=MAX_CONTENT_BYTES, required=True),
        decode_time(message.event_time, f"{field}.event_time") if given else now,
    )


def decode_zone(name: str, field: str) -> tzinfo | None:
    """None when not given."""
    zone = zone_named(check_text(field, name)) if name else None
    if name and zone is None:
        raise invalid_field(field, f'{field} is no IANA zone: give one such as "Europe/Rome"')
    return zone


def _decode_facts(message: pb.DirectFacts) -> DirectFacts:
    check_batch("facts.facts", len(message.facts))
    return DirectFacts(
        [
            DirectFact(
                check_text(
                    f"facts.facts[{number}].content", fact.content, limit=MAX_CONTENT_BYTES, required=True
                ),
                decode_topics(fact.topics, f"facts.facts[{number}].topics"),
            )
            for number, fact in enumerate(message.facts)
        ]
    )


def decode_instructions(text: str, field: str) -> str:
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise over_limit(field, "characters", MAX_PROMPT_CHARACTERS, len(text))
    return check_text(field, text, limit=MAX_INSTRUCTION_BYTES)


def decode_rules(request: pb.GenerateMemoriesRequest) -> GenerationRules:
    return _decode_rules(request, "")


def decode_options(message: generation_pb2.GenerationOptions, field: str) -> GenerationRules:
    return _decode_rules(message, f"{field}.")


def decode_kept_options(kept: bytes) -> GenerationRules:
    """What was said for a snapshot."""
    options = generation_pb2.GenerationOptions.FromString(kept)
    _let_expire(options.revision_options)
    return decode_options(options, "generation")


def _let_expire(options: memory_pb2.RevisionOptions) -> None:
    """A time that was to come when it was said, and is over now: nobody is to see the revision."""
    if options.HasField("expire_time") and options.expire_time.ToDatetime(UTC) <= datetime.now(UTC):
        options.disabled = True


def _decode_rules(
    message: pb.GenerateMemoriesRequest | generation_pb2.GenerationOptions, prefix: str
) -> GenerationRules:
    strategy = decode_enum(
        message.metadata_merge_strategy,
        generation_pb2.MetadataMergeStrategy.DESCRIPTOR,
        MergeStrategy,
        f"{prefix}metadata_merge_strategy",
    )
    return GenerationRules(
        consolidate=not message.disable_consolidation,
        metadata=decode_metadata_map(message.metadata, f"{prefix}metadata"),
        merge=strategy or MergeStrategy.OVERWRITE,
        allowed_topics=decode_topics(message.allowed_topics, f"{prefix}allowed_topics"),
        revision_options=decode_revision_options(message.revision_options, f"{prefix}revision_options"),
    )


def keep_request(request: pb.GenerateMemoriesRequest) -> bytes:
    """What the job of an operation reads. What was said "now" was said when it was asked for."""
    kept = pb.GenerateMemoriesRequest()
    kept.CopyFrom(request)
    for turn in kept.turns.turns:
        if not turn.HasField("event_time"):
            turn.event_time.GetCurrentTime()
    return kept.SerializeToString()


def decode_kept_request(kept: bytes) -> tuple[GenerationOrder, GenerationRules]:
    request = pb.GenerateMemoriesRequest.FromString(kept)
    _let_expire(request.revision_options)
    return decode_order(request), decode_rules(request)


def encode_generation(generation: Generation) -> pb.GenerateMemoriesResponse:
    result = encode_result(generation)
    answer = pb.GenerateMemoriesResponse(memories=result.memories, report=result.report)
    omit_excess(answer, answer.memories)
    return answer


def encode_result(generation: Generation) -> generation_pb2.GenerationResult:
    dropped = generation.dropped
    return generation_pb2.GenerationResult(
        memories=[_encode_generated(each) for each in generation.memories],
        report=generation_pb2.GenerationReport(
            known_count=dropped.known,
            unquoted_count=dropped.unquoted,
            invalid_count=dropped.invalid,
            off_topic_count=dropped.off_topic,
            incomplete=dropped.incomplete,
            held_count=dropped.held,
        ),
    )


def encode_approval(generation: Generation) -> pb.ApproveMemoryResponse:
    return pb.ApproveMemoryResponse(memories=[_encode_generated(each) for each in generation.memories])


def encode_held_memory(held: HeldMemory) -> held_memory_pb2.HeldMemory:
    said = held.candidate.learned.utterances
    return held_memory_pb2.HeldMemory(
        held_memory_id=held.candidate.held_memory_id,
        memory=encode_memory(held.memory),
        quotations=[
            held_memory_pb2.Quotation(
                turn_id=each.turn_id, role=each.role, event_time=encode_time(each.time), text=each.text
            )
            for each in said
        ],
        create_time=encode_time(held.candidate.create_time),
    )


def _encode_generated(generated: GeneratedMemory) -> generation_pb2.GeneratedMemory:
    return generation_pb2.GeneratedMemory(
        memory=encode_memory(generated.memory),
        action=memory_pb2.RevisionAction.Value(f"REVISION_ACTION_{generated.action}"),
        previous_revision=generated.previous_revision or 0,
    )
