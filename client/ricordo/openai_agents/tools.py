"""Memory as function tools."""

from collections.abc import Callable, Iterable
from typing import Any

from agents import RunContextWrapper, Tool, default_tool_error_function, function_tool

from ricordo.errors import RicordoError


def as_tools(functions: Iterable[Callable[..., Any]]) -> list[Tool]:
    """Makes function tools of what `ricordo.tools` gives, in both colours; a failure is told to the model.

    Args:
        functions: Typed functions with docstrings, whose actor is fixed.
    """
    return [function_tool(each, failure_error_function=_tell) for each in functions]


def _tell(context: RunContextWrapper[Any], error: Exception) -> str:
    """What a model needs to do better; what is no fault of its call stays as untold as with any tool."""
    return str(error) if isinstance(error, RicordoError) else default_tool_error_function(context, error)
