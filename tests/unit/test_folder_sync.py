"""A folder and entries: notes come back from their files, and each side's changes are seen."""

import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.commands.folder.note import Note, parse_note, render_note
from ricordo.commands.folder.plan import Action, Side, decide

PIECES = [
    "---\n",
    "---",
    "description: x\n",
    'description: "x"\n',
    "title: t\n",
    "\r\n",
    "\n",
    "text",
    "",
    '"',
    "'",
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join)


@given(TEXT, TEXT)
def test_a_note_comes_back_from_its_file(description: str, content: str) -> None:
    note = Note(description, content)
    assert parse_note(render_note(note)) == note


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("tea\n", Note("", "tea\n")),
        ("---\ndescription: what Ada drinks\n---\ntea\n", Note("what Ada drinks", "tea\n")),
        ('---\ndescription: "a: \\"b\\""\n---\ntea', Note('a: "b"', "tea")),
        ("---\ndescription: 'it''s'\n---\n", Note("it's", "")),
        ("---\r\ndescription: d\r\n---\r\ntea\r\n", Note("d", "tea\r\n")),
        ("---\ndescription: d\n---", Note("d", "")),
        ("---\ndescription: d\x85e\u2028f\n---\n", Note("d\x85e\u2028f", "")),
    ],
)
def test_a_description_stands_in_front_matter(text: str, note: Note) -> None:
    assert parse_note(text) == note


def test_front_matter_that_says_more_is_content() -> None:
    text = "---\ntitle: Tea\ndescription: what Ada drinks\n---\ntea\n"
    assert parse_note(text) == Note("what Ada drinks", text)
    assert render_note(Note("what Ada drinks", text)) == text


@pytest.mark.parametrize("text", ["---\n", "---\ntitle: t\n", "---\ntitle: t\n---\nx", "--- \nx\n----\n"])
def test_what_is_no_description_is_content(text: str) -> None:
    assert parse_note(text) == Note("", text)


@given(st.text(string.printable), st.text(string.printable))
def test_a_digest_tells_description_from_content(description: str, content: str) -> None:
    note, other = Note(description, content), Note(description + content, "")
    assert (note.digest == other.digest) == (note == other)


VERSION = st.sampled_from([None, "a", "b", "c"])
APPLIED: dict[Action, Callable[[str | None, str | None], tuple[str | None, str | None]]] = {
    Action.PUSH: lambda file, entry: (file, file),
    Action.PULL: lambda file, entry: (entry, entry),
    Action.DELETE_ENTRY: lambda file, entry: (None, None),
    Action.DELETE_FILE: lambda file, entry: (None, None),
    Action.CONFLICT: lambda file, entry: (file, entry),
}


@given(VERSION, VERSION, VERSION, st.none() | st.sampled_from(Side))
def test_only_what_a_side_has_changed_reaches_the_other(
    known: str | None, file: str | None, entry: str | None, prefer: Side | None
) -> None:
    """The changed side is never written to; where both have changed, only the one that is not preferred is."""
    action = decide(known, file, entry, prefer)
    after = APPLIED[action](file, entry) if action else (file, entry)
    changed_file, changed_entry = file != known, entry != known
    if file == entry:
        assert action is None
    elif changed_file and changed_entry:
        expected = {None: (file, entry), Side.FILES: (file, file), Side.STORE: (entry, entry)}[prefer]
        assert after == expected
    else:
        assert after == ((file, file) if changed_file else (entry, entry))
