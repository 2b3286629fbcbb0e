"""How a memory or a turn reads in a context, whatever the format: a label, a time and a body."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ricordo_server.domain.memory import (
    Memory,
    MemoryKind,
    ProceduralDetails,
    ProfileDetails,
    TaxonomicDetails,
)
from ricordo_server.domain.session import Turn

# What XML 1.0 has no place for, besides DEL and the C1 controls: nothing a model should read.
UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Entry:
    """`label` is one line: what names the item (title, name, path, term; a turn's role). Empty: nothing does.

    `time` is when the thing happened; where that is not known, `recorded` is the day it was written.
    """

    label: str
    body: str
    time: str = ""
    recorded: str = ""


def entry_of(item: Memory | Turn) -> Entry:
    return _turn_entry(item) if isinstance(item, Turn) else _memory_entry(item)


def clean(text: str) -> str:
    """Every kind of line end as a newline, none at either end; no control characters or lone surrogates."""
    return UNPRINTABLE.sub("", "\n".join(text.splitlines())).strip("\n")


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _turn_entry(turn: Turn) -> Entry:
    return Entry(one_line(turn.role), clean(_turn_body(turn)), time=_moment(turn.event_time))


def _turn_body(turn: Turn) -> str:
    """A turn may hold only calls of tools, or only the data of another system."""
    calls = "\n".join(f"{call.name}({call.arguments_json})" for call in turn.tool_calls)
    spoken = "\n".join(part for part in (turn.content, calls) if part.strip())
    return spoken or turn.data_json


def _memory_entry(memory: Memory) -> Entry:
    happened = _period(memory.event_time, memory.event_end_time)
    recorded = "" if happened else _moment(memory.update_time)[:10]
    return Entry(one_line(_label(memory)), clean(_memory_body(memory)), happened, recorded)


def _label(memory: Memory) -> str:
    """The key is a name, except a taxonomic one, which is JSON of domain and term."""
    match memory.kind, memory.details:
        case MemoryKind.TAXONOMIC, TaxonomicDetails(term=term):
            return term or memory.title
        case MemoryKind.PROFILE, ProfileDetails(field_name=name) if name:
            return name
        case ((MemoryKind.PROCEDURAL | MemoryKind.DOCUMENT), _):
            return memory.key or memory.title
        case MemoryKind.TAXONOMIC, _:
            return memory.title
    return memory.title or memory.key or ""


def _memory_body(memory: Memory) -> str:
    if isinstance(memory.details, ProceduralDetails):
        return _procedure(memory, memory.details)
    summary = getattr(memory.details, "summary", "")
    return memory.content or summary or memory.description


def _procedure(memory: Memory, details: ProceduralDetails) -> str:
    told = all(step in memory.content for step in details.steps)
    steps: Sequence[str] = () if told else [f"{n}. {step}" for n, step in enumerate(details.steps, 1)]
    return "\n".join(part for part in (memory.description, memory.content, *steps) if part)


def _period(start: datetime | None, end: datetime | None) -> str:
    moments = [_moment(time) for time in (start, end) if time is not None]
    return " to ".join(dict.fromkeys(moments))


def _moment(time: datetime) -> str:
    """UTC to the minute, or the day alone at midnight: most event times are known to the day."""
    written = time.astimezone(UTC).isoformat(timespec="minutes").replace("+00:00", "Z")
    return written.removesuffix("T00:00Z")
