"""From a passage of turns to what is learned of it. No transaction is open here: a model may take a minute."""

from collections.abc import Sequence
from datetime import datetime

from ricordo_server.app.consolidation import Checkpoint, consolidate, prepare
from ricordo_server.app.limiter import LlmMeter
from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.domain.candidates import keep_conforming, keep_latest, keep_storable, keep_topics
from ricordo_server.domain.extraction import Extraction, ExtractionRequest, Topic
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.generation import (
    Dropped,
    Generation,
    GenerationRules,
    Learned,
    Origin,
    Passage,
    holding,
    memory_scope,
    split_by_trust,
    utterances_of,
)
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.profile_schema import Profile
from ricordo_server.domain.session import Session, Turn
from ricordo_server.domain.spans import keep_quoted


async def extract(
    services: Services,
    call: Call,
    store_id: str,
    policy: ExtractionPolicy,
    passage: Passage,
    kind: MemoryKind,
    rules: GenerationRules,
    checkpoint: Checkpoint,
) -> Generation:
    """Learns one kind from a passage; the memories and `checkpoint` are committed together, or neither.

    A checkpoint that finds its work done already raises, and nothing is written a second time.

    Raises:
        StepError: nothing could be extracted, or no proposal be had; its class says when to try again.
        DomainError: the database refused, or the checkpoint did.
    """
    learned = await learn(services, call, policy, passage, kind)
    prepared = await prepare(services, call, store_id, policy, learned, rules)
    return await consolidate(services, call, store_id, [prepared], rules, checkpoint)


def passage_of(
    session: Session,
    policy: ExtractionPolicy,
    turns: Sequence[Turn],
    context: Sequence[Turn] = (),
    *,
    profiles: Sequence[Profile] = (),
    snapshot_id: str = "",
) -> Passage:
    """Turns of one session as they are read, in the order of what they tell of; `context` is not extracted again."""
    zone = policy.zone(session.metadata)
    origin = Origin(session.scope.session_id or "", snapshot_id)
    return Passage(
        memory_scope(session.scope),
        utterances_of(sorted(turns, key=_moment), zone),
        utterances_of(sorted(context, key=_moment), zone),
        origin,
        profiles,
    )


def _moment(turn: Turn) -> tuple[datetime, int]:
    return turn.event_time, turn.turn_seq


async def learn(
    services: Services, call: Call, policy: ExtractionPolicy, passage: Passage, kind: MemoryKind
) -> Learned:
    """The candidates that quote what was said, each within the limits of a memory.

    What is held back is read apart, so that its words have no part in what is learned of the others.

    Raises:
        StepError: nothing could be extracted.
        DomainError: RATE_LIMIT_EXCEEDED, when a model is to be asked and the day's tokens are used up.
    """
    trusted, untrusted = split_by_trust(passage, policy.least_trust)
    learned = await _learn(services, call, policy, trusted, kind)
    if not untrusted.utterances:
        return learned
    return holding(learned, await _learn(services, call, policy, untrusted, kind))


async def _learn(
    services: Services, call: Call, policy: ExtractionPolicy, passage: Passage, kind: MemoryKind
) -> Learned:
    if not passage.utterances or (kind is MemoryKind.PROFILE and not passage.profiles):
        return Learned(kind, passage.scope, passage.origin, (), ())
    extractor = services.choose_extractor(policy.endpoint)
    guidance = policy.guidance(kind)
    request = ExtractionRequest(kind, passage.utterances, passage.context, guidance, passage.profiles)
    found = await extractor.extract(request, LlmMeter(services.limiter, call.principal))
    return _sifted(passage, kind, guidance.topics, found)


def _sifted(passage: Passage, kind: MemoryKind, topics: Sequence[Topic], found: Extraction) -> Learned:
    quoted, unquoted = keep_quoted(found.candidates, found.utterances)
    storable, unstorable = keep_storable(quoted)
    conforming, unfit = keep_conforming(storable, [each.schema for each in passage.profiles])
    topical, off_topic = keep_topics(conforming, [topic.name for topic in topics])
    invalid = found.invalid + unstorable + unfit
    dropped = Dropped(unquoted, invalid, off_topic, incomplete=found.incomplete)
    return Learned(
        kind,
        passage.scope,
        passage.origin,
        keep_latest(topical, found.utterances),
        found.utterances,
        found.model,
        found.prompt_version,
        dropped=dropped,
    )
