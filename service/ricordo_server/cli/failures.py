"""Failures to one clear line on stderr and an exit status: 1 for a fault, 2 for a call that makes no sense."""

from collections.abc import Iterator
from contextlib import contextmanager

import pydantic
import typer
from pydantic_core import ErrorDetails

import ricordo
from ricordo.commands.output import START_A_SERVER
from ricordo_server.credentials.key_sealing import KeySecretError
from ricordo_server.db.installation import DATABASE_ERRORS, describe
from ricordo_server.domain.ports import EmbeddingError
from ricordo_server.embedded import EmbeddedPostgresError
from ricordo_server.processes import ChildFailedError, PortTakenError
from ricordo_server.rpc.transport import BadCertificateError
from ricordo_server.server import UnsafeToServe

FAULT, MISUSE = 1, 2
OWN_WORDS = (
    BadCertificateError,
    ChildFailedError,
    EmbeddedPostgresError,
    EmbeddingError,
    KeySecretError,
    PortTakenError,
)
"""Their messages say what is wrong and what to do."""


class Refusal(Exception):  # noqa: N818 - a verdict
    """The command refuses; each line says what is wrong and what to do."""

    def __init__(self, *lines: str, status: int = FAULT) -> None:
        super().__init__(*lines)
        self.lines = lines
        self.status = status


@contextmanager
def failures_told() -> Iterator[None]:
    """Ends the program when the block fails in a way that is not a bug."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise typer.Exit(130) from error
    except Exception as error:
        refusal = as_refusal(error)
        if refusal is None:
            raise
        for line in refusal.lines:
            typer.echo(f"ricordo: {line}", err=True)
        raise typer.Exit(refusal.status) from error


def as_refusal(error: Exception) -> Refusal | None:
    """What to say; None for what should not have happened."""
    match error:
        case Refusal():
            return error
        case UnsafeToServe():
            return Refusal(*error.faults)
        case ricordo.errors.MemoryClientError() | ricordo.errors.MemoryIdentityError():
            return Refusal(str(error), status=MISUSE)
        case ricordo.errors.RicordoError():
            return Refusal(_explain_call(error))
        case pydantic.ValidationError():
            return Refusal(*explain_validation(error), status=MISUSE)
    if isinstance(error, OWN_WORDS):
        return Refusal(str(error))
    if isinstance(error, OSError) and error.filename:
        return Refusal(f"{error.filename}: {error.strerror}")
    if isinstance(error, DATABASE_ERRORS):
        return Refusal(f"the database refuses: {describe(error)}; `ricordo doctor` says more")
    return None


def _explain_call(error: ricordo.RicordoError) -> str:
    if isinstance(error, ricordo.errors.TransportSecurityError):
        return error.message
    is_late = isinstance(error, ricordo.errors.DeadlineExceededError)
    if isinstance(error, ricordo.errors.MemoryConnectionError) and not is_late:
        target = error.message.split(": ", 1)[0]
        return f"no server answers at {target}: {START_A_SERVER}"
    return str(error)


def explain_validation(error: pydantic.ValidationError) -> list[str]:
    """One line for each field, without the value, which may be a secret."""
    return [
        f"{'.'.join(str(part) for part in fault['loc']) or 'the object'}: {_explain_fault(fault)}"
        for fault in error.errors(include_url=False, include_input=False)
    ]


def _explain_fault(fault: ErrorDetails) -> str:
    if fault["type"] == "extra_forbidden":
        return "there is no such name here"
    return fault["msg"].removeprefix("Value error, ")
