"""What is learned from turns: what an extractor is given, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from ricordo_server.domain.memory import Details, Memory, MemoryKind
from ricordo_server.domain.profile_schema import Profile

# The kinds that are learned from turns, each by a reading of its own.
EXTRACTED_KINDS = (
    MemoryKind.SEMANTIC,
    MemoryKind.EPISODIC,
    MemoryKind.PROCEDURAL,
    MemoryKind.TAXONOMIC,
    MemoryKind.PROFILE,
)


@dataclass(frozen=True)
class Utterance:
    """A turn, or a part of a long one, as an extractor reads it.

    `text` is without what this service itself had recalled; `time` is in the user's zone.
    """

    turn_id: str
    role: str
    text: str
    time: datetime


@dataclass(frozen=True)
class Topic:
    """`name` as topics are stored, behind MANAGED_TOPIC or CUSTOM_TOPIC."""

    name: str
    description: str = ""


@dataclass(frozen=True)
class ExampleMemory:
    """`topics` as they are stored."""

    content: str
    topics: Sequence[str] = ()


@dataclass(frozen=True)
class Example:
    """Few-shot: what was said, and what is learned from it; none: nothing is."""

    conversation: str
    learned: Sequence[ExampleMemory]


class Person(StrEnum):
    """In which grammatical person facts of the user are written down."""

    FIRST = "FIRST"
    THIRD = "THIRD"


@dataclass(frozen=True)
class Guidance:
    """How a project wants one kind extracted. Empty fields are the extractor's own; no topics: all."""

    model: str = ""
    prompt: str = ""
    topics: Sequence[Topic] = ()
    examples: Sequence[Example] = ()
    person: Person = Person.FIRST


@dataclass(frozen=True)
class ExtractionRequest:
    """`context` was read before and is there to be understood, not to be extracted again. `profiles` are those
    whose fields are asked for, with what is known.
    """

    kind: MemoryKind
    utterances: Sequence[Utterance]
    context: Sequence[Utterance] = ()
    guidance: Guidance = Guidance()
    profiles: Sequence[Profile] = ()


@dataclass(frozen=True)
class Quote:
    """The words a candidate rests on, and the place in the request of the utterance that has them."""

    utterance: int
    text: str


@dataclass(frozen=True)
class Candidate:
    """What may become a memory."""

    kind: MemoryKind
    content: str
    quotes: Sequence[Quote]
    title: str = ""
    description: str = ""
    key: str | None = None
    details: Details | None = None
    topics: Sequence[str] = ()
    event_time: datetime | None = None
    event_end_time: datetime | None = None


@dataclass(frozen=True)
class Extraction:
    """Quotes count in these `utterances`: those of the request, long ones in pieces.

    `invalid` items were no candidates and are left out; `incomplete`: some turn has more to say than the output
    holds, and what is here is what came before the cut.
    """

    candidates: Sequence[Candidate]
    utterances: Sequence[Utterance]
    model: str
    prompt_version: str
    invalid: int = 0
    incomplete: bool = False


class ProposedAction(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"


@dataclass(frozen=True)
class Proposal:
    """What to do with a candidate beside a known memory: only proposed, `consolidation` decides.

    UPDATE: the candidate says it anew. DELETE: the candidate makes it untrue. NOOP: the memory says it already.
    """

    action: ProposedAction
    target: Memory | None = None


ADD = Proposal(ProposedAction.ADD)


@dataclass(frozen=True)
class Compared:
    """A candidate and the known memories nearest to it, nearest first."""

    candidate: Candidate
    known: Sequence[Memory] = field(default_factory=tuple)


class TokenMeter(Protocol):
    """Counts for a project what a language model reads and writes; rules use nothing of it."""

    async def check(self) -> None:
        """Before a piece of work, not within it: what has begun is finished.

        Raises:
            DomainError: RATE_LIMIT_EXCEEDED, until midnight, when the day's tokens are used up.
        """
        ...

    async def count(self, tokens: int) -> None:
        """One reply's, whatever it is good for."""
        ...


class Extractor(Protocol):
    """Reads turns. It is handed text and answers values: it holds no credential of a tenant and no connection."""

    @property
    def follows_instructions(self) -> bool:
        """Whether prompts tell it anything."""
        ...

    async def extract(self, request: ExtractionRequest, meter: TokenMeter) -> Extraction:
        """What the utterances say, of one kind.

        Raises:
            StepError: nothing could be extracted; its class says whether it may succeed later.
            DomainError: the meter refused.
        """
        ...

    async def propose(
        self, compared: Sequence[Compared], guidance: Guidance, meter: TokenMeter
    ) -> list[Proposal]:
        """One proposal for each, in order; part of the work that `extract` began.

        Raises:
            StepError: as above.
        """
        ...

    async def aclose(self) -> None:
        """Free connections; calls after it fail."""
        ...
