import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.context import Chunk
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.near_duplicates import Distinct, fingerprint, is_near_duplicate, normalise
from tests.fixtures.context_items import chunk, fact, memory, turn


def at_cosine(cosine: float, dimension: int = 384) -> list[float]:
    """A unit vector at this cosine from `at_cosine(1)`, spread over head and tail."""
    along = [1.0 if n % 2 else 0.0 for n in range(dimension)]
    across = [0.0 if n % 2 else 1.0 for n in range(dimension)]
    scale = math.sqrt(dimension / 2)
    return [(cosine * a + math.sqrt(1 - cosine**2) * b) / scale for a, b in zip(along, across, strict=True)]


def repeats(new: Chunk, kept: Chunk) -> bool:
    return is_near_duplicate(fingerprint(new), fingerprint(kept))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea", "likes  TEA."),
        ("Likes\ntea", "Likes tea!.."),
        ("ﬁne café", "fine cafe\u0301"),
        ("Straße", "STRASSE"),
        ("她喜欢茶。", "她喜欢茶"),
    ],
)
def test_case_space_form_and_final_punctuation_make_no_difference(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"), [("...", "!"), ("Tea?", "Tea."), ("C#", "C"), ("5 kg", "5 g"), ("Zoë", "Zoe")]
)
def test_what_makes_a_difference(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_the_same_text_is_a_duplicate_without_vectors_and_across_sources() -> None:
    assert repeats(chunk(turn("I like tea.")), fact("I like tea"))


@pytest.mark.parametrize(("cosine", "alike"), [(0.94, False), (0.96, True), (-0.96, False)])
def test_a_cosine_above_the_constant_is_a_duplicate(cosine: float, alike: bool) -> None:
    new = fact("User likes green tea", embedding=at_cosine(cosine))
    assert repeats(new, fact("The user likes green tea", embedding=at_cosine(1))) is alike


def test_the_length_of_vectors_makes_no_difference() -> None:
    new = fact("User likes tea", embedding=[3 * x for x in at_cosine(0.96)])
    assert repeats(new, fact("The user likes tea", embedding=[x / 2 for x in at_cosine(1)]))


@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("Meeting with Anna on Tuesday", "Meeting with Anna on Monday"),
        ("The key rotates every 90 days", "The key rotates every 30 days"),
        ("The user is not allergic to peanuts", "The user is allergic to peanuts"),
    ],
)
def test_a_text_with_a_word_of_its_own_is_kept_however_near(new: str, kept: str) -> None:
    assert not repeats(fact(new, embedding=at_cosine(1)), fact(kept, embedding=at_cosine(1)))


@pytest.mark.parametrize("vector", [None, [0.0] * 384, [math.nan] * 384, [1.0] * 3])
def test_vectors_that_cannot_be_compared_make_no_duplicate(vector: list[float] | None) -> None:
    assert not repeats(
        fact("User likes tea", embedding=vector), fact("The user likes tea", embedding=at_cosine(1))
    )


def test_the_same_value_of_two_keys_is_two_facts() -> None:
    assert not repeats(fact("blue", key="car colour"), fact("blue", key="favourite colour"))
    assert repeats(fact("blue", key="car colour"), fact("blue"))


def test_the_same_words_of_two_speakers_are_two_turns() -> None:
    assert not repeats(chunk(turn("Yes.", role="assistant")), chunk(turn("Yes.")))


def test_a_copy_of_a_document_is_a_duplicate() -> None:
    paths = [chunk(memory("text", kind=MemoryKind.DOCUMENT, key=path)) for path in ("/a", "/b")]
    assert repeats(*paths)


def test_the_best_ranked_original_is_named() -> None:
    distinct = Distinct()
    for content, memory_id in (("tea", "1"), ("coffee", "2")):
        distinct.keep(fingerprint(fact(content, memory_id)))
    original = distinct.repeated_by(fingerprint(fact("Coffee.", "3")))
    assert original is not None
    assert original.item_id == "2"
    assert distinct.repeated_by(fingerprint(fact("water", "4"))) is None


vectors = st.lists(st.floats(-1, 1), min_size=96, max_size=96)


@given(vectors, st.lists(st.floats(-0.2, 0.2), min_size=96, max_size=96))
def test_the_short_cut_decides_as_the_whole_cosine_does(vector: list[float], noise: list[float]) -> None:
    other = [x + y for x, y in zip(vector, noise, strict=True)]
    lengths = math.hypot(*vector) * math.hypot(*other)
    cosine = sum(x * y for x, y in zip(vector, other, strict=True)) / lengths if lengths else 0.0
    if abs(cosine - 0.95) > 1e-9 and lengths > 1e-100:
        alike = repeats(fact("a tea", embedding=vector), fact("the tea", embedding=other))
        assert alike is (cosine > 0.95)
