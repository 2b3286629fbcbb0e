"""Operations: work in the background that somebody asked for, can ask about and can stop."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ricordo_server.domain.errors import DomainError
from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.generation import Dropped, Generation
from ricordo_server.domain.memory import RevisionAction
from ricordo_server.domain.scope import Scope


class OperationKind(StrEnum):
    GENERATE_MEMORIES = "GENERATE_MEMORIES"
    EXTRACT_SESSION = "EXTRACT_SESSION"


@dataclass(frozen=True)
class OperationDraft:
    """`scope` is whose memories or turns it is about; `request` is what its job reads again, in the caller's form."""

    kind: OperationKind
    scope: Scope
    request: bytes = b""


@dataclass(frozen=True)
class MadeRevision:
    """What an operation did to a memory, by name: what is forgotten is not kept for an operation's sake."""

    memory_id: str
    revision: int
    action: RevisionAction
    previous_revision: int | None = None


@dataclass(frozen=True)
class Made:
    """What came of it, as it is kept."""

    revisions: Sequence[MadeRevision]
    dropped: Dropped

    def __add__(self, other: "Made") -> "Made":
        return Made([*self.revisions, *other.revisions], self.dropped + other.dropped)


@dataclass(frozen=True)
class Operation:
    """It is over when it has an `end_time`, and has an error or a result then.

    `attempts` failed so far, the last one for the reason `failure_class`.
    """

    operation_id: str
    store_id: str
    kind: OperationKind
    scope: Scope
    create_time: datetime
    end_time: datetime | None = None
    attempts: int = 0
    failure_class: FailureClass | None = None
    error: DomainError | None = None
    made: Made | None = None
    generation: Generation | None = None

    @property
    def done(self) -> bool:
        return self.end_time is not None


def made_of(generation: Generation) -> Made:
    return Made(
        [
            MadeRevision(each.memory.memory_id, each.memory.revision, each.action, each.previous_revision)
            for each in generation.memories
        ],
        generation.dropped,
    )
