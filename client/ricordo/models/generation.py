"""Memories made of turns or of facts."""

from datetime import datetime

from ricordo.models.base import Model, RevisionAction, Word
from ricordo.models.memory import Memory, Topic
from ricordo.models.scope import Scope


class MetadataMergeStrategy(Word):
    """How given metadata meets that of a memory which is updated.

    `require_exact_match`: only memories with exactly this metadata are compared, updated and replaced.
    """

    OVERWRITE = "overwrite"
    MERGE = "merge"
    REQUIRE_EXACT_MATCH = "require_exact_match"


class SessionRange(Model):
    """Turns of one session, at most 500; what is None does not restrict. `end_time` itself is out."""

    scope: Scope
    from_turn_seq: int | None = None
    to_turn_seq: int | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None


class SpokenTurn(Model):
    """A turn that is not recorded; None: said now."""

    role: str
    content: str
    event_time: datetime | None = None


class DirectFact(Model):
    """A fact as it is, at most 256 KiB, and what it is about."""

    content: str
    topics: tuple[Topic, ...] = ()


class GeneratedMemory(Model):
    """What was done. `previous_revision` is the one to roll back to; None of a memory that is new."""

    memory: Memory
    action: RevisionAction
    previous_revision: int | None = None


class Generation(Model):
    """What was made of what was read, and how much came to nothing.

    `known`: a memory says it already. `unquoted`: it could not be quoted from the turns it names. `invalid`: it was
    no memory. `off_topic`: it was about none of the topics. `held`: it waits for a review, since the project does not
    trust those who said it. `incomplete`: a turn has more to say than the model's output holds.
    """

    memories: tuple[GeneratedMemory, ...] = ()
    known: int = 0
    unquoted: int = 0
    invalid: int = 0
    off_topic: int = 0
    held: int = 0
    incomplete: bool = False


class Quotation(Model):
    """Words of a turn, and who said them; an empty `turn_id`: the turn is not recorded."""

    turn_id: str = ""
    role: str
    event_time: datetime
    text: str


class HeldMemory(Model):
    """What was learned from words that the project does not trust enough: no memory until it is approved.

    `memory` is what it would become, without id and revision.
    """

    held_memory_id: str
    memory: Memory
    quotations: tuple[Quotation, ...] = ()
    create_time: datetime
