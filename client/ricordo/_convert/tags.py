"""The tags of custom types: dotted or nested one level deep, kept as metadata."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ricordo.errors import MemoryClientError
from ricordo.filters import Filter, all_of, field
from ricordo.models import Metadata, TagScalar

TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
TAKEN_NAMES = frozenset(
    {
        *("semantic", "episodic", "taxonomic", "procedural", "document", "profile", "custom"),
        *("snapshot", "entity", "preferences", "turn", "stm", "short_term"),
    }
)


Tags = Mapping[str, TagScalar | Mapping[str, TagScalar]]


def check_type(name: str) -> str:
    """The name of a custom type.

    Raises:
        MemoryClientError: It is that of another kind of memory, or none.
    """
    if name in TAKEN_NAMES:
        raise MemoryClientError(f"{name!r} is no custom type: it has methods of its own")
    if not isinstance(name, str) or not TYPE_NAME.fullmatch(name):
        raise MemoryClientError(f"{name!r} is no name of a custom type: it must match {TYPE_NAME.pattern}")
    return name


def flatten_tags(tags: Tags | None) -> dict[str, TagScalar]:
    """Tags by their dotted names.

    Raises:
        MemoryClientError: One is named twice, nested deeper, empty, or no text, finite number or bool.
    """
    flat: dict[str, TagScalar] = {}
    for name, value in _pairs(tags or {}):
        if name in flat:
            raise MemoryClientError(f"tag {name!r} is given twice: dotted and nested")
        flat[name] = _checked(name, value)
    for name in flat:
        group = name.partition(".")[0]
        if group != name and group in flat:
            raise MemoryClientError(f"tag {group!r} is a value and a group: give one of the two")
    return flat


def nest_tags(flat: Mapping[str, TagScalar]) -> Metadata:
    """Tags as metadata: a group is a map."""
    nested: Metadata = {}
    for name, value in flat.items():
        group, dot, rest = name.partition(".")
        if dot:
            nested.setdefault(group, {})[rest] = value
        else:
            nested[name] = value
    return nested


def tags_of(metadata: Metadata) -> Metadata:
    """Metadata as tags with dotted names."""
    flat: Metadata = {}
    for name, value in metadata.items():
        flat |= (
            {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
        )
    return flat


def with_tags(flat: Mapping[str, TagScalar]) -> Filter | None:
    """The condition that each tag has that value."""
    parts = [field("metadata", *name.split(".")).eq(value) for name, value in flat.items()]
    return all_of(*parts) if parts else None


def _pairs(tags: Tags) -> Iterator[tuple[str, Any]]:
    for name, value in tags.items():
        if not isinstance(value, Mapping):
            yield name, value
        elif not value:
            raise MemoryClientError(f"tag group {name!r} is empty: give it a tag, or leave it out")
        else:
            yield from ((f"{name}.{key}", one) for key, one in value.items())


def _checked(name: str, value: Any) -> TagScalar:
    segments = name.split(".") if isinstance(name, str) else [""]
    if not all(segments) or len(segments) > 2:
        raise MemoryClientError(f"tag {name!r}: a name has one or two segments, none of them empty")
    if any(segment.startswith("$") for segment in segments):
        raise MemoryClientError(f"tag {name!r}: tags are compared for equality only, they take no $operators")
    if not isinstance(value, str | int | float):  # a bool is an int
        raise MemoryClientError(f"tag {name!r} is {value!r}: give text, a number, True or False")
    if isinstance(value, str) and not value.strip():
        raise MemoryClientError(f"tag {name!r} is blank: give it a value, or leave it out")
    if isinstance(value, float) and not math.isfinite(value):
        raise MemoryClientError(f"tag {name!r} is {value}: give a finite number")
    return value
