import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.embedding import tokens
from ricordo_server.embedding.tokens import GptTokenCounter

O200K, CL100K = GptTokenCounter(), GptTokenCounter("cl100k_base")


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),  # the example of OpenAI's cookbook
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 8, 9),
    ],
)
def test_counts_are_those_that_openai_publishes(text: str, o200k: int, cl100k: int) -> None:
    assert (O200K.count(text), CL100K.count(text)) == (o200k, cl100k)


@given(st.text(st.characters()))
def test_any_text_is_counted_and_bytes_bound_the_count(text: str) -> None:
    assert 0 <= O200K.count(text) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("unit", [" ", "a", "\n", "^", "\0", "é", "👩‍👩‍👧‍👦", "e\u0301", "海", "word "])
def test_the_longest_content_of_one_kind_is_counted(unit: str) -> None:
    text = unit * (256 * 1024 // len(unit.encode()))
    assert 0 < O200K.count(text) <= len(text.encode())


def test_special_tokens_in_a_text_are_ordinary_text() -> None:
    assert O200K.count("<|endoftext|>") > 1


def test_an_unknown_name_is_refused_with_those_known() -> None:
    with pytest.raises(ValueError, match="cl100k_base, o200k_base"):
        GptTokenCounter("p50k_base")


def test_ranks_that_are_not_the_published_ones_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forged = tmp_path / "ranks.gz"
    forged.write_bytes(gzip.compress(b"IQ== 0\n"))
    monkeypatch.setattr(tokens, "_find_data", lambda name: forged)
    tokens._load_encoding.cache_clear()
    with pytest.raises(ValueError, match="published"):
        GptTokenCounter("o200k_base")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_DATA_PACKAGE", "ricordo_no_such_package")
    tokens._load_encoding.cache_clear()
    with pytest.raises(ValueError, match="ricordo_no_such_package"):
        GptTokenCounter("o200k_base")
