"""Memory as LangChain's tools."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from ricordo.errors import RicordoError


def as_tools(functions: Iterable[Callable[..., Any]]) -> list[BaseTool]:
    """Makes tools of what `ricordo.tools` gives; a failure is told to the model.

    Args:
        functions: Typed functions with docstrings, whose actor is fixed; those of an `AsyncClient` are for `ainvoke`
            alone.
    """
    return [_as_tool(each) for each in functions]


def _as_tool(function: Callable[..., Any]) -> BaseTool:
    options: dict[str, Any] = {"parse_docstring": True, "handle_tool_error": True}
    if iscoroutinefunction(function):
        return StructuredTool.from_function(coroutine=_awaited(function), **options)
    return StructuredTool.from_function(_called(function), **options)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with _failures_told():
            return function(*arguments, **named)

    return call


def _awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def call(*arguments: Any, **named: Any) -> Any:
        with _failures_told():
            return await function(*arguments, **named)

    return call


@contextmanager
def _failures_told() -> Iterator[None]:
    """A graph ends with any other exception than this one, which its tools answer with."""
    try:
        yield
    except RicordoError as error:
        raise ToolException(str(error)) from error
