"""Steps and resources of procedures: text as it is, dicts as JSON; each comes back as it was saved."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ricordo.errors import MemoryClientError


def encode_steps(steps: Iterable[Mapping[str, Any] | str] | None, name: str) -> tuple[str, ...]:
    """Each step as text. Text that could be taken for JSON is written as JSON text.

    Raises:
        MemoryClientError: A step is no dict of JSON values and no text.
    """
    if isinstance(steps, str):
        raise MemoryClientError(f"{name} is a text: give a list of steps")
    return tuple(_encode(step, f"{name}[{number}]") for number, step in enumerate(steps or ()))


def decode_steps(steps: Iterable[str]) -> list[dict[str, Any] | str]:
    """Each step as it was saved."""
    return [_decode(step) for step in steps]


def _encode(step: Mapping[str, Any] | str, name: str) -> str:
    if isinstance(step, str) and not step.startswith(("{", '"')):
        return step
    if not isinstance(step, str | Mapping):
        raise MemoryClientError(f"{name} is {type(step).__name__}: give a dict or text")
    try:
        return json.dumps(step if isinstance(step, str) else dict(step), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise MemoryClientError(f"{name} cannot be written as JSON: {error}") from None


def _decode(step: str) -> dict[str, Any] | str:
    if not step.startswith(("{", '"')):
        return step
    try:
        found = json.loads(step)
    except ValueError:
        return step
    return found if isinstance(found, dict | str) else step
