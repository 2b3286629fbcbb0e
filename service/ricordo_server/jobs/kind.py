"""A kind of job."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError
from ricordo_server.domain.failure import FailureClass, StepError

Work = Callable[[Services, Call, Mapping[str, Any]], Awaitable[None]]
"""Gets the services, a call in the job's project, and the arguments it was deferred with."""


@dataclass(frozen=True)
class Failure:
    """An attempt failed; after a final one there is no other. `cause` is None where the worker died with it."""

    failure_class: FailureClass
    is_final: bool
    cause: Exception | None = None

    @property
    def reason(self) -> str:
        """In words, of which none are a user's: what other errors say is for the log alone."""
        match self.cause:
            case None:
                return "the workers that tried it died"
            case StepError() | DomainError():
                return str(self.cause)
            case TimeoutError():
                return "it took too long"
        return "the server failed: its log says how"


OnFailure = Callable[[Services, Call, Mapping[str, Any], Failure], Awaitable[None]]

# The longest a job of any kind may take: one that is under way for longer is lost.
LONGEST_SECONDS = 1_800.0


@dataclass(frozen=True)
class JobKind:
    """How jobs of one name run.

    A job may run twice: its worker can die after the work is committed and before the queue knows. So its transaction
    first looks whether the work is still to be done.

    `seconds` ends an attempt, which then failed for a transient reason. Kinds with a `schedule` (as of cron, in UTC)
    are the installation's own and belong to no project: their call is the housekeeper's. `on_failure`
    hears of each failed attempt.
    """

    name: str
    work: Work
    seconds: float = 60.0
    schedule: str = ""
    on_failure: OnFailure | None = None
