"""What a template of a context is given, and what stands around it in the text.

What was remembered is data: it is marked where a template prints it, and `frame` sees to it that no line of the text
begins with it. Where it would, a quote mark stands before it, so that a heading or a fence in it stays inside its
item, as in Markdown. `xml` and `json` escape it in their own ways instead.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from typing import Any

from ricordo_server.domain.context_entries import clean

# Control characters: `clean` takes them out of data, and `check_template` refuses them in templates.
_START, _END = "\x02", "\x03"
_MARKED = re.compile(f"{_START}([^{_END}]*){_END}")
_QUOTE, _NEXT_LINE = "> ", "  > "
# What JSON leaves as it is and some take for the end of a line, or for nothing.
_JSON_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Framed(str):
    """Text that cannot be taken for a frame: it needs no quote mark."""

    __slots__ = ()


NOTHING = Framed()


@dataclass(frozen=True)
class TemplateChunk:
    """A memory or a turn. `label` names it; `time` is when it happened, else `recorded` the day it was written."""

    id: Framed
    source: Framed
    label: str = ""
    content: str = ""
    time: Framed = NOTHING
    recorded: Framed = NOTHING
    role: str = ""
    tool: str = ""
    is_error: bool = False
    custom_type: str = ""
    agent_id: str = ""
    user_id: str = ""
    session_id: str = ""
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] | None = None
    score: float = 0.0

    @cached_property
    def multiline(self) -> bool:
        return "\n" in self.content


@dataclass(frozen=True)
class TemplateGroup:
    """The chunks of one source."""

    source: Framed
    heading: Framed
    chunks: Sequence[TemplateChunk]


# What a template may name of each, in the order of the documentation.
FIELDS: Mapping[type, Sequence[str]] = {
    TemplateChunk: (*(field.name for field in fields(TemplateChunk)), "multiline"),
    TemplateGroup: tuple(field.name for field in fields(TemplateGroup)),
}


def as_text(value: object) -> str:
    """Lists and maps as JSON, times in ISO 8601.

    Raises:
        TypeError: It is nothing to print.
    """
    match value:
        case str():
            return value
        case None:
            return ""
        case datetime():
            return value.isoformat()
        case bool() | int() | float() | Mapping() | list() | tuple():
            return as_json(value)
    raise TypeError("a chunk, a group or a list of them cannot be printed: print its fields")


def as_json(value: object) -> Framed:
    written = json.dumps(value, ensure_ascii=False, default=as_text)
    return Framed(_JSON_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", written))


def as_xml(value: object) -> Framed:
    """For the inside of an element, or of an attribute in quotes."""
    return Framed(html.escape(clean(as_text(value))))


def mark(value: object) -> str:
    """A value as it is printed: data between marks; a number has none."""
    text = as_text(value)
    return text if isinstance(value, Framed | int | float) else f"{_START}{clean(text)}{_END}"


def frame(marked: str) -> str:
    """The text, in which no line begins with data."""
    parts: list[str] = []
    at_start = True
    for number, part in enumerate(_MARKED.split(marked)):  # own text and data by turns
        if number % 2 == 0:
            _, ended, last = part.rpartition("\n")
            at_start = not last.strip() and (at_start or bool(ended))
            parts.append(part)
        elif part:
            parts.append(_quote(part, at_start))
            at_start = False
    return "".join(parts)


def _quote(data: str, at_start: bool) -> str:
    first, *others = data.split("\n")
    begun = _QUOTE * at_start + first
    return (
        "\n".join([begun.rstrip(), *((_NEXT_LINE + line).rstrip() for line in others)]) if others else begun
    )
