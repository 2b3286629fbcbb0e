"""What a file and an entry hold alike; pure.

A description stands in front matter. Where that says nothing else it is no part of the content; where the author has
more to say there, all of it is content, and its description is the entry's too.
"""

import json
import re
from dataclasses import dataclass
from hashlib import sha256

FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?P<lines>(?:.*\n)*?)---[ \t]*(?:\r?\n|\Z)")
LINE = re.compile(r".*\n")  # str.splitlines would break a line at U+0085 and others too
DESCRIPTION = re.compile(r"description:[ \t]*(?P<value>.*?)[ \t]*\r?\n")


@dataclass(frozen=True)
class Note:
    """A text and the line that says what it holds."""

    description: str
    content: str

    @property
    def digest(self) -> str:
        """The same for the same note, and for no other."""
        return sha256(json.dumps([self.description, self.content]).encode()).hexdigest()


def parse_note(text: str) -> Note:
    """The note that a file holds."""
    found = FRONT_MATTER.match(text)
    if found is None:
        return Note("", text)
    lines = LINE.findall(found["lines"])
    described = [line for line in map(DESCRIPTION.fullmatch, lines) if line]
    if len(described) != 1:
        return Note("", text)
    description = _unquote(described[0]["value"])
    return Note(description, text if len(lines) > 1 else text[found.end() :])


def render_note(note: Note) -> str:
    """The text of its file: parsed, it is the note again."""
    if parse_note(note.content) == note:
        return note.content
    return f"---\ndescription: {json.dumps(note.description, ensure_ascii=False)}\n---\n{note.content}"


def _unquote(value: str) -> str:
    """A YAML scalar in double quotes, in single ones, or plain."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    try:
        found = json.loads(value) if value.startswith('"') else value
    except ValueError:
        return value
    return found if isinstance(found, str) else value
