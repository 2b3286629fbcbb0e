import asyncio
import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.ports import MAX_CHUNKS, EmbeddingKind, Vector
from ricordo_server.embedding.chunks import repair_surrogates, scale_to_unit, split_in_halves
from ricordo_server.embedding.hashing import HashingEmbedder

ANY_TEXT = st.text(st.characters())  # lone surrogates too
_PROGRAM = """
import asyncio
from ricordo_server.domain.ports import EmbeddingKind
from ricordo_server.embedding.hashing import HashingEmbedder
print(asyncio.run(HashingEmbedder().embed(["Lena moved to Porto"], EmbeddingKind.DOCUMENT)))
"""


async def embed(*texts: str, dimension: int = 64) -> list[Vector]:
    vectors = await HashingEmbedder(dimension).embed(texts, EmbeddingKind.DOCUMENT)
    return [vector for vector in vectors if vector is not None]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
async def test_every_process_computes_the_same_vector(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, env=environment, stdout=subprocess.PIPE
    )
    told, _ = await child.communicate()
    assert told.decode().strip() == repr(await embed("Lena moved to Porto"))


@given(ANY_TEXT)
async def test_every_text_has_a_vector_of_length_one(text: str) -> None:
    (vector,) = await embed(text)
    assert math.hypot(*vector) == pytest.approx(1.0)


async def test_texts_without_words_share_a_fixed_vector() -> None:
    assert await embed("", " \n", "!?") == [[1.0] + [0.0] * 63] * 3


async def test_shared_words_bring_texts_near() -> None:
    query, near, far = await embed("Lena's dog", "the dog of Lena", "quarterly revenue forecast")
    assert dot(query, near) > dot(query, far) + 0.3


async def test_the_dimension_is_part_of_the_name() -> None:
    assert HashingEmbedder(16).name == "hashing-16"
    assert [len(vector) for vector in await embed("a", dimension=16)] == [16]


@given(ANY_TEXT, st.integers(1, 20))
def test_halves_keep_every_character_but_spaces_in_order(text: str, longest: int) -> None:
    chunks = split_in_halves(text, lambda part: len(part) <= longest)
    kept = "".join("".join(chunks).split())
    whole = "".join(text.split())
    assert kept == whole if len(chunks) < MAX_CHUNKS else whole.startswith(kept)
    assert all(chunk and len(chunk) <= longest for chunk in chunks)


@given(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1))
def test_halves_are_cut_between_words_where_the_middle_has_a_space(words: list[str]) -> None:
    chunks = split_in_halves(" ".join(words), lambda part: len(part) <= 30)
    assert [word for chunk in chunks for word in chunk.split()] == words


def test_halves_end_at_the_bound() -> None:
    assert len(split_in_halves("a" * 10_000, lambda part: len(part) <= 2)) == MAX_CHUNKS


@given(ANY_TEXT)
def test_repaired_text_can_be_encoded_and_good_text_is_left_alone(text: str) -> None:
    repaired = repair_surrogates(text)
    assert repaired.encode().decode() == repaired
    assert repair_surrogates(repaired) == repaired


def test_a_surrogate_pair_becomes_its_character() -> None:
    assert repair_surrogates("\ud83d\ude00 \ud83d") == "😀 \ufffd"


@pytest.mark.parametrize("values", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], []])
def test_what_has_no_direction_has_no_unit_vector(values: list[float]) -> None:
    assert scale_to_unit(values) is None
