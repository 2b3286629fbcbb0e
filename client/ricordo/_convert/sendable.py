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
        def given() -> Mapping[str, object]:
            return signature(build).bind(*arguments, **options).arguments

        try:
            return build(*arguments, **options)
        except UnicodeEncodeError as error:
            name = next(_places(error.object.__eq__, given(), ""), "a text")
            raise MemoryClientError(
                f"{name} holds the lone surrogate {error.object[error.start]!r} at position {error.start}, which is "
                "half a character and cannot be sent: remove it, or decode the source with errors='replace'"
            ) from error
        except RicordoError:
            raise
        except (TypeError, ValueError) as error:
            # The codec names the value of a number that is out of range, not its field.
            told = str(error).split()
            name = next(
                _places(lambda value: _is_number(value) and str(value) in told, given(), ""), "an argument"
            )
            raise MemoryClientError(f"{name} does not fit its field: {error}") from error

    return built


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _places(is_wanted: Callable[[object], bool], value: object, name: str) -> Iterator[str]:
    """Where a text or a number that is wanted stands in the arguments: `memory.content`."""
    match value:
        case str() | int() | float():
            if is_wanted(value):
                yield name
        case BaseModel():
            yield from _places(is_wanted, dict(value), name)
        case Mapping():
            for key, item in value.items():
                yield from _places(is_wanted, key, f"a key of {name}")
                yield from _places(is_wanted, item, f"{name}.{key}".lstrip("."))
        case Sequence():
            for index, item in enumerate(value):
                yield from _places(is_wanted, item, f"{name}[{index}]")
