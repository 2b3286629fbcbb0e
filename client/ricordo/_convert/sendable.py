"""What cannot be sent: a lone surrogate, half a character that UTF-8 has no form for; a value that fits no field."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from pydantic import BaseModel

from ricordo.errors import MemoryClientError, RicordoError

Parameters = ParamSpec("Parameters")
Message = TypeVar("Message")


def sendable(build: Callable[Parameters, Message]) -> Callable[Parameters, Message]:
    """Wraps a builder of messages: what cannot be sent is refused, text by the name of its argument.

    Raises:
        MemoryClientError: instead of the codec's own error, which knows no names.
    """

    @wraps(build)
    def built(*arguments: Parameters.args, **options: Parameters.kwargs) -> Message:
        try:
            return build(*arguments, **options)
        except UnicodeEncodeError as error:
            given = signature(build).bind(*arguments, **options).arguments
            name = next(_places(error.object, given, ""), "a text")
            raise MemoryClientError(
                f"{name} holds the lone surrogate {error.object[error.start]!r} at position {error.start}, which is "
                "half a character and cannot be sent: remove it, or decode the source with errors='replace'"
            ) from error
        except RicordoError:
            raise
        except (TypeError, ValueError) as error:
            raise MemoryClientError(f"an argument does not fit its field: {error}") from error

    return built


def _places(text: str, value: object, name: str) -> Iterator[str]:
    """Where the text stands in the arguments: `memory.content`."""
    match value:
        case str():
            if value == text:
                yield name
        case BaseModel():
            yield from _places(text, dict(value), name)
        case Mapping():
            for key, item in value.items():
                yield from _places(text, key, f"a key of {name}")
                yield from _places(text, item, f"{name}.{key}".lstrip("."))
        case Sequence():
            for index, item in enumerate(value):
                yield from _places(text, item, f"{name}[{index}]")
