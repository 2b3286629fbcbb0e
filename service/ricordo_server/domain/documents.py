"""Documents of one fact a line: where facts go, and what becomes of the text."""

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set

# A document is read as one piece: beyond this, a topic goes on in another.
MOST_DOCUMENT_BYTES = 16 * 1024
LONGEST_SLUG = 64
FALLBACK_SLUG = "general"


def slug_of(topic: str) -> str:
    """The topic's name in paths, as tools for agents write it: letters of any language, digits, `_` and `-`."""
    words = re.sub(r"[^\w-]+", "-", unicodedata.normalize("NFKC", topic).lower())
    return words.strip("-")[:LONGEST_SLUG].rstrip("-") or FALLBACK_SLUG


def parts_of(path: str) -> Iterator[str]:
    """A document's path, and those that it goes on at: /tea.md, /tea-2.md, /tea-3.md and so on."""
    stem, dot, ending = path.rpartition(".") if "." in path.rsplit("/", 1)[-1] else (path, "", "")
    yield path
    number = 2
    while True:
        yield f"{stem}-{number}{dot}{ending}"
        number += 1


def one_line(text: str) -> str:
    """The text as a line that says something: a heading would not."""
    line = " ".join(text.split())
    return line.lstrip("# ") or line


def lines_of(content: str) -> list[str]:
    """The lines that say something: blank ones and headings do not."""
    stripped = (line.strip() for line in content.split("\n"))
    return [line for line in stripped if line and not line.startswith("#")]


def with_line(content: str, line: str) -> str:
    return f"{content}\n{line}" if content and not content.endswith("\n") else content + line


def replaced(content: str, old: str, new: str) -> str:
    """With `new` in the place of the first line `old`."""
    lines = content.split("\n")
    place = next((number for number, line in enumerate(lines) if line.strip() == old), None)
    return content if place is None else "\n".join([*lines[:place], new, *lines[place + 1 :]])


def without_lines(content: str, gone: Set[str]) -> str:
    return "\n".join(line for line in content.split("\n") if line.strip() not in gone)


def fits(content: str, line: str) -> bool:
    """A line of any length fits into a document that says nothing yet."""
    return not content or len(content.encode()) + len(line.encode()) + 1 <= MOST_DOCUMENT_BYTES


def split_document(content: str, most: int = MOST_DOCUMENT_BYTES) -> list[str]:
    """Pieces of whole lines that fit, cut before a heading where one is near the end; one line is never cut."""
    pieces: list[list[str]] = [[]]
    size = 0
    for line in content.split("\n"):
        width = len(line.encode()) + 1
        if pieces[-1] and size + width > most:
            pieces.append(_taken_from_heading(pieces[-1], most - width))
            size = _width(pieces[-1])
        pieces[-1].append(line)
        size += width
    return ["\n".join(piece) for piece in pieces if any(line.strip() for line in piece)]


def _width(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _taken_from_heading(piece: list[str], room: int) -> list[str]:
    """Takes the last section off a full piece, so that the next begins with it: if it is in its second half, and no
    larger than the room there."""
    headings = [number for number, line in enumerate(piece) if line.startswith("#")]
    if not headings or headings[-1] <= len(piece) // 2:
        return []
    section = piece[headings[-1] :]
    if _width(section) > room:
        return []
    del piece[headings[-1] :]
    return section


def repeated_lines(contents: Sequence[str]) -> list[set[str]]:
    """For each text, the lines that an earlier one has already."""
    seen: set[str] = set()
    found = []
    for content in contents:
        lines = set(lines_of(content))
        found.append(lines & seen)
        seen |= lines
    return found
