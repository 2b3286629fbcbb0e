"""Memories made of turns or of given facts: what goes in, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from ricordo_server.domain.consolidation import MergeStrategy, Trust, is_trusted_less, trust_of
from ricordo_server.domain.extraction import Candidate, Quote, Utterance
from ricordo_server.domain.memory import Memory, MemoryKind, MemorySource, RevisionAction
from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.profile_schema import Profile
from ricordo_server.domain.recalled import without_recalled
from ricordo_server.domain.retention import DEFAULT_OPTIONS, RevisionOptions
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import Turn


@dataclass(frozen=True)
class SessionRange:
    """Turns of one session; what is None does not restrict. `end_time` is the first moment that is out."""

    scope: Scope
    from_seq: int | None = None
    to_seq: int | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None


@dataclass(frozen=True)
class InlineTurns:
    """Turns that are not recorded, in order; their times in the user's zone, None of the project's."""

    turns: Sequence[Utterance]
    zone: tzinfo | None = None


@dataclass(frozen=True)
class DirectFact:
    content: str
    topics: Sequence[str] = ()


@dataclass(frozen=True)
class DirectFacts:
    facts: Sequence[DirectFact]


@dataclass(frozen=True)
class GenerationOrder:
    """What to make memories of, and whose. `scope` is None where the session's own is meant; `instructions` take the
    place of the prompts.
    """

    source: SessionRange | InlineTurns | DirectFacts
    scope: Scope | None
    kinds: Sequence[MemoryKind] = (MemoryKind.SEMANTIC,)
    instructions: str = ""

    @property
    def asks_documents(self) -> bool:
        """Facts are to become lines of documents; they are asked for alone."""
        return MemoryKind.DOCUMENT in self.kinds


@dataclass(frozen=True)
class Origin:
    """Where utterances come from; empty for what a caller hands over."""

    session_id: str = ""
    snapshot_id: str = ""


@dataclass(frozen=True)
class Passage:
    """A run of turns to learn from, and whose the memories will be: PRIVATE, and of no session. `profiles` are
    what is known of that scope in a structured form.
    """

    scope: Scope
    utterances: Sequence[Utterance]
    context: Sequence[Utterance] = ()
    origin: Origin = Origin()
    profiles: Sequence[Profile] = ()


@dataclass(frozen=True)
class Dropped:
    """Candidates that are no memories, by reason. `held`: they wait for a review. `incomplete`: a turn had more to
    say than the output holds.
    """

    unquoted: int = 0
    invalid: int = 0
    off_topic: int = 0
    known: int = 0
    held: int = 0
    incomplete: bool = False

    def __add__(self, other: "Dropped") -> "Dropped":
        return Dropped(
            self.unquoted + other.unquoted,
            self.invalid + other.invalid,
            self.off_topic + other.off_topic,
            self.known + other.known,
            self.held + other.held,
            self.incomplete or other.incomplete,
        )


@dataclass(frozen=True)
class Learned:
    """What was learned of one kind. Quotes count in `utterances`; `source` says who states it.

    `held` are the candidates that rest on words which the project does not trust enough.
    """

    kind: MemoryKind
    scope: Scope
    origin: Origin
    candidates: Sequence[Candidate]
    utterances: Sequence[Utterance]
    model: str = ""
    prompt_version: str = ""
    source: MemorySource = MemorySource.EXTRACTION
    dropped: Dropped = Dropped()
    held: Sequence[Candidate] = ()


@dataclass(frozen=True)
class GenerationRules:
    """How what was learned meets the memories there are."""

    consolidate: bool = True
    metadata: Metadata = field(default_factory=dict)
    merge: MergeStrategy = MergeStrategy.OVERWRITE
    allowed_topics: Sequence[str] = ()
    revision_options: RevisionOptions = DEFAULT_OPTIONS


DEFAULT_RULES = GenerationRules()


@dataclass(frozen=True)
class GeneratedMemory:
    """`previous_revision` is the one to roll back to; None of a memory that is new."""

    memory: Memory
    action: RevisionAction
    previous_revision: int | None = None


@dataclass(frozen=True)
class Generation:
    memories: Sequence[GeneratedMemory] = ()
    dropped: Dropped = Dropped()

    def showing(self, memory: Memory) -> "Generation":
        """With the memory as it is by now."""
        named = [
            replace(each, memory=memory) if each.memory.memory_id == memory.memory_id else each
            for each in self.memories
        ]
        return replace(self, memories=named)

    def count(self, action: RevisionAction) -> int:
        return sum(each.action is action for each in self.memories)

    def __add__(self, other: "Generation") -> "Generation":
        return Generation([*self.memories, *other.memories], self.dropped + other.dropped)


def split_by_trust(passage: Passage, least: Trust) -> tuple[Passage, Passage]:
    """What is trusted at least so much, and the rest with all of the context."""

    def trusted(said: Sequence[Utterance]) -> list[Utterance]:
        return [each for each in said if not is_trusted_less(trust_of([each.role]), least)]

    kept = replace(passage, utterances=trusted(passage.utterances), context=trusted(passage.context))
    rest = [each for each in passage.utterances if each not in kept.utterances]
    return kept, replace(passage, utterances=rest)


def holding(learned: Learned, untrusted: Learned) -> Learned:
    """The one, with what was learned of the other held back."""
    first = len(learned.utterances)
    held = [
        replace(each, quotes=[Quote(quote.utterance + first, quote.text) for quote in each.quotes])
        for each in untrusted.candidates
    ]
    return replace(
        learned,
        utterances=[*learned.utterances, *untrusted.utterances],
        model=learned.model or untrusted.model,
        prompt_version=learned.prompt_version or untrusted.prompt_version,
        dropped=learned.dropped + untrusted.dropped,
        held=held,
    )


def utterances_of(turns: Sequence[Turn], zone: tzinfo) -> list[Utterance]:
    """What the turns say themselves; those that say nothing are left out."""
    said = [Utterance(turn.turn_id, turn.role, turn.content, turn.event_time) for turn in turns]
    return heard(said, zone)


def heard(said: Sequence[Utterance], zone: tzinfo) -> list[Utterance]:
    """Without what this service had recalled, in the user's zone; nothing of those that say nothing else."""
    whole = [replace(each, text=without_recalled(each.text), time=_local(each.time, zone)) for each in said]
    return [each for each in whole if each.text.strip()]


def _local(time: datetime, zone: tzinfo) -> datetime:
    try:
        return time.astimezone(zone)
    except OverflowError:  # at the ends of the calendar
        return time


def memory_scope(scope: Scope) -> Scope:
    """Of what a session teaches: its user's and its labels', for every later session."""
    return Scope(scope.user_id, None, scope.labels)
