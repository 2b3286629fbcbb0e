"""Commands of a client: each has the options of its connection and of the form of its answer."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

from ricordo.commands.connection import DEFAULT_TARGET, Target, Token, connect
from ricordo.commands.output import Format, Output, failures_told

OPTIONS = (
    Parameter("output", Parameter.KEYWORD_ONLY, default=Format.TEXT, annotation=Output),
    Parameter("target", Parameter.KEYWORD_ONLY, default=DEFAULT_TARGET, annotation=Target),
    Parameter("token", Parameter.KEYWORD_ONLY, default=None, annotation=Token),
)


def of_client(function: Callable[..., None]) -> Callable[..., None]:
    """Makes a command of a function; its failures end the program.

    Args:
        function: Takes a client and the form of its answer, then what is the command's own.
    """

    @wraps(function)
    def command(output: Format, target: str, token: str | None, **given: Any) -> None:
        with failures_told(output), connect(target, token) as client:
            function(client, output, **given)

    _, _, *own = signature(function).parameters.values()
    parameters = [*own, *OPTIONS]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command
