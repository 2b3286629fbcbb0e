from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ricordo_server.domain.extraction import Candidate, Quote, Utterance
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.spans import SHORTEST_QUOTE, is_quoted, keep_quoted, normalise_span

SAID = Utterance("t", "user", "I like “strong” tea — 茶が好き.", datetime(2025, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "quote",
    [
        "I like",
        'i LIKE  \n "strong"',
        "'strong' tea - 茶",
        "strong tea",
        "茶が",
        "…like “strong” tea…",
        "ｓｔｒｏｎｇ",
    ],
)
def test_a_quote_is_found_whatever_its_case_its_spaces_and_its_marks(quote: str) -> None:
    expected = quote not in ("strong tea", "'strong' tea - 茶", "茶が")
    assert is_quoted(quote, SAID.text) is expected


@pytest.mark.parametrize("quote", ["", " ", '"', "I", "likes", "lik", "ike", "I like tea", "strong coffee"])
def test_what_was_not_said_in_these_words_is_no_quote(quote: str) -> None:
    assert not is_quoted(quote, SAID.text)


@given(
    before=st.text(max_size=30),
    quote=st.text(min_size=SHORTEST_QUOTE, max_size=30),
    after=st.text(max_size=30),
)
def test_words_between_spaces_are_found(before: str, quote: str, after: str) -> None:
    assume(len(normalise_span(quote).strip("\"'… .")) >= SHORTEST_QUOTE)
    assert is_quoted(quote, f"{before} {quote} {after}")


@given(quote=st.text(max_size=20), text=st.text(max_size=60))
def test_what_is_found_stands_in_the_text(quote: str, text: str) -> None:
    if is_quoted(quote, text):
        assert normalise_span(quote).strip("\"'… .") in normalise_span(text)


@given(st.text(max_size=40))
def test_a_text_quotes_itself_unless_it_says_nothing(text: str) -> None:
    assert is_quoted(text, text) is bool(normalise_span(text).strip("\"'… ."))


@given(st.lists(st.tuples(st.integers(-2, 3), st.sampled_from(["I like", "coffee", ""])), max_size=6))
def test_every_candidate_is_kept_with_quotes_that_are_there_or_counted(quotes: list[tuple[int, str]]) -> None:
    candidates = [Candidate(MemoryKind.SEMANTIC, "c", [Quote(*quote)]) for quote in quotes]
    kept, dropped = keep_quoted(candidates, [SAID])
    assert len(kept) == quotes.count((0, "I like"))
    assert len(kept) + dropped == len(candidates)


def test_only_the_quotes_that_are_found_stay() -> None:
    quotes = [Quote(0, "coffee"), Quote(0, "I like"), Quote(7, "I like")]
    [kept], dropped = keep_quoted([Candidate(MemoryKind.SEMANTIC, "c", quotes)], [SAID])
    assert (list(kept.quotes), dropped) == ([Quote(0, "I like")], 0)
