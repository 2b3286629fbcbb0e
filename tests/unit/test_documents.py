"""Documents of one fact a line: paths, lines, pieces."""

from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo_server.domain.documents import (
    MOST_DOCUMENT_BYTES,
    fits,
    lines_of,
    one_line,
    parts_of,
    repeated_lines,
    replaced,
    slug_of,
    split_document,
    with_line,
    without_lines,
)

LINES = st.lists(st.text(alphabet="ab #é", max_size=30), max_size=60)


@pytest.mark.parametrize(
    ("topic", "slug"),
    [
        ("Tea & Coffee", "tea-coffee"),
        ("Über uns", "über-uns"),
        ("", "general"),
        ("!?", "general"),
        ("a" * 99, "a" * 64),
    ],
)
def test_a_topic_becomes_a_name_in_paths(topic: str, slug: str) -> None:
    assert slug_of(topic) == slug


def test_a_document_goes_on_in_numbered_parts() -> None:
    assert list(islice(parts_of("/a/tea.md"), 3)) == ["/a/tea.md", "/a/tea-2.md", "/a/tea-3.md"]
    assert list(islice(parts_of("/a.b/tea"), 2)) == ["/a.b/tea", "/a.b/tea-2"]


def test_headings_and_blank_lines_say_nothing() -> None:
    assert lines_of("# Tea\n\n  green \nblack") == ["green", "black"]


def test_a_line_is_added_replaced_and_removed() -> None:
    assert with_line("", "a") == "a"
    assert with_line("a", "b") == with_line("a\n", "b") == "a\nb"
    assert replaced("a\nb\nb", "b", "c") == "a\nc\nb"
    assert replaced("a", "b", "c") == "a"
    assert without_lines("a\nb\nc", {"b"}) == "a\nc"


def test_a_text_is_cut_before_the_last_heading_of_its_second_half() -> None:
    assert split_document("# One\naaaa\naaaa\n# Two\nbbbb\nbbbb", most=26) == [
        "# One\naaaa\naaaa",
        "# Two\nbbbb\nbbbb",
    ]


@given(LINES, st.integers(min_value=1, max_value=200))
def test_pieces_have_every_line_once_and_in_order(lines: list[str], most: int) -> None:
    content = "\n".join(lines)
    pieces = split_document(content, most)
    assert [line for piece in pieces for line in lines_of(piece)] == lines_of(content)


@given(LINES, st.integers(min_value=1, max_value=200))
@example(["", "", "#a", "aaa"], 5)
def test_a_piece_is_too_long_only_where_one_line_is(lines: list[str], most: int) -> None:
    for piece in split_document("\n".join(lines), most):
        assert len(piece.encode()) <= most or len(piece.split("\n")) == 1


def test_what_an_earlier_text_says_is_repeated() -> None:
    assert repeated_lines(["a\nb", "b\nc", "c\na"]) == [set(), {"b"}, {"a", "c"}]


def test_a_line_that_is_longer_than_a_document_has_one_of_its_own() -> None:
    line = "x" * (MOST_DOCUMENT_BYTES + 1)
    assert fits("", line)
    assert not fits("tea", line)


def test_a_fact_is_a_line_and_no_heading() -> None:
    assert one_line("#1 is\ntea,  #2 coffee") == "1 is tea, #2 coffee"
    assert lines_of(one_line("# Tea")) == ["Tea"]
