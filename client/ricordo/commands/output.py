"""What commands print: text for people, or JSON for programs, failures too."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from ricordo import errors

FAULT, MISUSE, INTERRUPTED = 1, 2, 130
# Content comes from anywhere: an escape sequence in it must not reach the terminal.
UNPRINTABLE = {code: "�" for code in (*range(32), 127, *range(128, 160)) if chr(code) not in "\n\t"}
START_A_SERVER = (
    "start one with `ricordo up`, or name another with --target (RICORDO_TARGET); one with TLS wants --tls before "
    "the command, and maybe --client-certificate"
)


class Format(StrEnum):
    """How a command answers."""

    TEXT = "text"
    JSON = "json"


Output = Annotated[Format, typer.Option("--output", "-o", help="How to answer; json says failures so, too.")]


def printable(text: str) -> str:
    """The text without what would steer a terminal."""
    return text.translate(UNPRINTABLE)


def print_line(*parts: str) -> None:
    """The parts that are not empty, in one line whatever is in them."""
    typer.echo(printable("  ".join(filter(None, parts)).replace("\n", " ").replace("\t", " ")))


def print_json(value: Any) -> None:
    """JSON for programs."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def confirm(question: str, yes: bool) -> None:
    """Asks before what cannot be taken back."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def tell_done(output: Format, what: str, which: str) -> None:
    """What became of it."""
    if output is Format.JSON:
        print_json({what: which})
    else:
        print_line(f"{what.capitalize()}: {which}")


def tell_following(page_token: str) -> None:
    """That there is more."""
    if page_token:
        typer.echo(f"There are more: --page-token {page_token}", err=True)


@contextmanager
def failures_told(output: Format) -> Iterator[None]:
    """Ends the program when the block fails in a way that is not a bug: 1 for a fault, 2 for a call without sense."""
    try:
        yield
    except BrokenPipeError:
        raise  # whoever reads the answer has had enough: the program ends without a word
    except (errors.RicordoError, OSError) as error:
        told = describe_failure(error)
        if output is Format.JSON:
            typer.echo(json.dumps({"error": told}, ensure_ascii=False, indent=2), err=True)
        else:
            typer.echo(printable(f"ricordo: {told['code']}: {told['message']}"), err=True)
            if told["hint"]:
                typer.echo(printable(f"  {told['hint']}"), err=True)
        raise typer.Exit(MISUSE if isinstance(error, ValueError) else FAULT) from error


def describe_failure(error: errors.RicordoError | OSError) -> dict[str, str]:
    """What is wrong, its code and what to do; an empty hint says nothing that the message does not."""
    match error:
        case errors.MemoryConnectionError() if not isinstance(
            error, errors.DeadlineExceededError | errors.TransportSecurityError
        ):
            return {"message": error.message, "code": error.code, "hint": START_A_SERVER}
        case errors.MemoryAPIError():
            return {"message": error.message, "code": error.code, "hint": _hint(error)}
        case errors.RicordoError():
            return {"message": str(error), "code": error.reason, "hint": ""}
    return {"message": f"{error.filename}: {error.strerror}", "code": "FILE", "hint": ""}


def _hint(error: errors.MemoryAPIError) -> str:
    fields = (f"{each.field}: {each.description}" for each in error.field_violations)
    return "; ".join(fields) or (f"reason {error.reason}" if error.reason != error.code else "")
