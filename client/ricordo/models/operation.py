"""Work in the background that can be asked about."""

from datetime import datetime

from ricordo.models.base import FailureClass, Model, Word
from ricordo.models.generation import Generation
from ricordo.models.scope import Scope


class OperationKind(Word):
    """What an operation does."""

    GENERATE_MEMORIES = "generate_memories"
    EXTRACT_SESSION = "extract_session"


class OperationError(Model):
    """Why an operation has no result: what its call would have been refused with.

    `code` is the gRPC status, for example "FAILED_PRECONDITION".
    """

    code: str
    reason: str
    message: str
    field: str = ""


class Operation(Model):
    """Work that goes on when the call which asked for it is over. Kept for 7 days after its end.

    When it is `done` it has an `error`, or the result of its kind. `failed_attempts` failed so far, the last one for
    the reason `failure_class`: what can succeed later is tried again.
    """

    operation_id: str
    store_id: str
    kind: OperationKind
    scope: Scope
    done: bool
    error: OperationError | None = None
    generation: Generation | None = None
    failed_attempts: int = 0
    failure_class: FailureClass | None = None
    create_time: datetime
    end_time: datetime | None = None
