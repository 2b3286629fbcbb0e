"""Finds what says nearly the same as something better ranked.

Used inside the selection, so that a candidate is compared with what is in the context and with nothing else, and
before it where a reranker is asked, so that it is not asked for the same text twice. In the worst case, 1,600 of 384
dimensions that all differ, this takes some seconds; the usual 40 take milliseconds.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from ricordo_server.domain.context import Chunk, LeftOut, LeftOutCause
from ricordo_server.domain.context_entries import entry_of
from ricordo_server.domain.memory import Memory, MemoryKind
from ricordo_server.domain.session import Turn

# On 20 pairs made by hand, with all-MiniLM-L6-v2: the same fact with a word turned stands at 0.96 to 0.99, a
# paraphrase at 0.85 to 0.94, where many different facts are too ("5 May", "6 May": 0.944). Some different facts
# stand above 0.95 (see `_adds_nothing`), so the cosine alone never drops one.
NEAR_DUPLICATE_COSINE = 0.95

# Enough dimensions to show that most pairs are far apart, a sixth of the work of all 384.
_HEAD = 64
# Not all punctuation: "C#" is not "C".
_END_MARKS = " .,;:!。、।۔"
_WORD = re.compile(r"\w+")
_SHORTEST_TELLING_WORD = 3
_STEM = 4


@dataclass(frozen=True)
class Direction:
    """A vector of unit length, cut in two; `rest` is the length of the tail."""

    head: Sequence[float]
    tail: Sequence[float]
    rest: float


@dataclass(frozen=True)
class Fingerprint:
    """What of a chunk is compared. `name` tells it from others of its source whatever they say; empty: nothing."""

    chunk: Chunk
    name: str
    text: str
    direction: Direction | None


class Distinct:
    """What is in the context so far, best ranked first, no two alike."""

    def __init__(self) -> None:
        self._kept: list[Fingerprint] = []

    def repeated_by(self, new: Fingerprint) -> Chunk | None:
        """The best-ranked chunk that `new` repeats."""
        return next((kept.chunk for kept in self._kept if is_near_duplicate(new, kept)), None)

    def keep(self, new: Fingerprint) -> None:
        self._kept.append(new)


@dataclass(frozen=True)
class DistinctChunks:
    """`kept` repeat nothing before them; `rest` was not looked at."""

    kept: Sequence[Chunk]
    rest: Sequence[Chunk]
    left_out: Sequence[LeftOut]


def take_distinct(ranked: Sequence[Chunk], most: int) -> DistinctChunks:
    """The first `most` chunks that repeat none before them. CPU work: call it through `asyncio.to_thread`."""
    distinct = Distinct()
    kept: list[Chunk] = []
    left_out: list[LeftOut] = []
    for number, chunk in enumerate(ranked):
        if len(kept) == most:
            return DistinctChunks(kept, ranked[number:], left_out)
        mark = fingerprint(chunk)
        if original := distinct.repeated_by(mark):
            left_out.append(repetition(chunk, original))
            continue
        distinct.keep(mark)
        kept.append(chunk)
    return DistinctChunks(kept, (), left_out)


def repetition(chunk: Chunk, original: Chunk) -> LeftOut:
    return LeftOut(chunk.source, chunk.item_id, LeftOutCause.DUPLICATE, original.item_id)


def fingerprint(chunk: Chunk) -> Fingerprint:
    direction = _direction(chunk.embedding) if chunk.embedding is not None else None
    return Fingerprint(chunk, _name(chunk.item), normalise(entry_of(chunk.item).body), direction)


def is_near_duplicate(new: Fingerprint, kept: Fingerprint) -> bool:
    """Whether `new` has the text of `kept`, or says nearly the same in words of which none is its own.

    Two of one source with different names are two things: "favourite colour: blue", "car colour: blue"; a "yes"
    of the user, a "yes" of the assistant.
    """
    if new.chunk.source is kept.chunk.source and new.name and kept.name and new.name != kept.name:
        return False
    return new.text == kept.text or (_point_alike(new, kept) and _adds_nothing(new.text, kept.text))


def normalise(text: str) -> str:
    """Compatibility forms, case, runs of white space and an end mark make no difference. A question does."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    collapsed = " ".join(folded.split())
    return collapsed.rstrip(_END_MARKS) or collapsed  # "!" and "..." are two things


def _name(item: Memory | Turn) -> str:
    """The path of a document and the title of an episode say where it is, not what: copies are duplicates."""
    if isinstance(item, Turn):
        return item.role.lower()
    if item.kind in (MemoryKind.DOCUMENT, MemoryKind.EPISODIC):
        return ""
    return item.key or entry_of(item).label


def _adds_nothing(new: str, kept: str) -> bool:
    """Whether each telling word of `new` is in `kept`.

    "Meeting on Monday", "on Tuesday" have a cosine of 0.987, "every 30 days", "every 90 days" 0.973. A fact that
    stays twice costs some tokens, a fact that is lost costs the answer.
    """
    return telling_words(new) <= telling_words(kept)


def telling_words(text: str) -> set[str]:
    """Of a normalised text. Words of three letters or more ("not" is one, most particles are none) by their first
    four, so that endings make no difference; numbers whole.
    """
    words = set(_WORD.findall(text))
    numbers = {word for word in words if any(map(str.isdigit, word))}
    return numbers | {word[:_STEM] for word in words - numbers if len(word) >= _SHORTEST_TELLING_WORD}


def _direction(vector: Sequence[float]) -> Direction | None:
    length = math.hypot(*vector)
    if not (length > 0 and math.isfinite(length)):
        return None
    unit = [x / length for x in vector]
    return Direction(unit[:_HEAD], unit[_HEAD:], math.hypot(*unit[_HEAD:]))


def _point_alike(new: Fingerprint, kept: Fingerprint) -> bool:
    """Whether the cosine is above the constant. By Cauchy and Schwarz the tails add at most the product of
    their lengths, which spares most pairs the long way.
    """
    a, b = new.direction, kept.direction
    if a is None or b is None or len(a.head) != len(b.head) or len(a.tail) != len(b.tail):
        return False
    cosine: float = sum(map(mul, a.head, b.head))
    if cosine + a.rest * b.rest <= NEAR_DUPLICATE_COSINE:
        return False
    cosine += sum(map(mul, a.tail, b.tail))
    return cosine > NEAR_DUPLICATE_COSINE
