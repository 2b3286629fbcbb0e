import asyncio
import math
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo_server.domain.ports import MAX_CHUNKS, EmbeddingError, EmbeddingKind, Vector
from ricordo_server.embedding import EmbeddingSettings, load_embedder, local_onnx
from ricordo_server.embedding.local_onnx import LocalOnnxEmbedder
from ricordo_server.embedding.settings import LOCAL_RUNS

DOCUMENT = EmbeddingKind.DOCUMENT
LONGEST = 256 * 1024
ODD = [
    "\x00",
    "\ud800",
    "👩‍👩‍👧‍👦",
    "e\u0301\u0302" * 50,
    "\u202e\ufeffabc",
    "한국어",
    "ไทย",
    "אבג",
    "[CLS] [PAD]",
    "a" * 101,
]


@pytest.fixture(scope="module")
def embedder() -> LocalOnnxEmbedder:
    return LocalOnnxEmbedder()


async def embed(embedder: LocalOnnxEmbedder, *texts: str) -> list[Vector]:
    vectors = await embedder.embed(texts, DOCUMENT)
    assert None not in vectors
    return [vector for vector in vectors if vector is not None]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def count(embedder: LocalOnnxEmbedder, text: str) -> int:
    return len(embedder._tokenizer.encode(text).ids)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("Where does she live?", "Her home is in Porto now.", "She is allergic to peanuts."),
        ("What food must I avoid for her?", "She is allergic to peanuts.", "Her home is in Porto now."),
        ("The server fell over at night.", "There was an outage after midnight.", "The soup was too salty."),
        ("He enjoys cycling.", "Riding his bike makes him happy.", "He enjoys his breakfast."),
    ],
)
async def test_a_paraphrase_is_nearer_than_another_fact(
    embedder: LocalOnnxEmbedder, query: str, near: str, far: str
) -> None:
    q, n, f = await embed(embedder, query, near, far)
    assert dot(q, n) > dot(q, f)


async def test_published_similarities_are_met(embedder: LocalOnnxEmbedder) -> None:
    """The example of the sentence-transformers documentation: exact inputs and pooling meet it to the digit."""
    a, b, c = await embed(
        embedder, "The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."
    )
    assert [dot(a, b), dot(a, c), dot(b, c)] == pytest.approx([0.6660, 0.1046, 0.1411], abs=1e-4)


async def test_vectors_have_the_stated_dimension_and_length_one(embedder: LocalOnnxEmbedder) -> None:
    for vector in await embed(embedder, "one", "two words", *ODD[2:]):
        assert len(vector) == embedder.dimension
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-5)


async def test_a_batch_gives_the_vectors_of_single_calls(embedder: LocalOnnxEmbedder) -> None:
    texts = ["a", "word " * 300, *(f"fact {at} " * at for at in range(1, 60, 3)), "the last one"]
    together = await embed(embedder, *texts)
    for text, vector in zip(texts, together, strict=True):
        (alone,) = await embed(embedder, text)
        assert vector == pytest.approx(alone, abs=1e-4)


async def test_what_the_model_does_not_read_changes_nothing(embedder: LocalOnnxEmbedder) -> None:
    content = embedder.max_tokens - 2
    whole, longer, shorter = await embed(embedder, "word " * content, "word " * 400, "word " * (content - 1))
    assert whole == pytest.approx(longer, abs=1e-6)
    assert whole != pytest.approx(shorter, abs=1e-6)


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\x00\x01"])
async def test_a_text_without_tokens_has_no_vector_and_no_chunk(
    embedder: LocalOnnxEmbedder, text: str
) -> None:
    vectors = await embedder.embed(["before", text, "after"], DOCUMENT)
    assert [vector is None for vector in vectors] == [False, True, False]
    assert embedder.split(text) == []


@pytest.mark.parametrize("unit", ["a", " ", "word ", "海", "^", "👩‍👩‍👧‍👦 ", *ODD])
async def test_the_longest_content_is_embedded_and_split_in_bounds(
    embedder: LocalOnnxEmbedder, unit: str
) -> None:
    text = unit * (LONGEST // len(unit.encode("utf-8", "surrogatepass")))
    await embedder.embed([text], DOCUMENT)
    chunks = embedder.split(text)
    assert len(chunks) <= MAX_CHUNKS
    assert all(count(embedder, chunk) <= embedder.max_tokens for chunk in chunks)


def test_a_short_text_is_its_own_chunk(embedder: LocalOnnxEmbedder) -> None:
    assert embedder.split("Lena moved to Porto.") == ["Lena moved to Porto."]


def test_a_long_text_is_cut_between_words_into_chunks_of_like_size(embedder: LocalOnnxEmbedder) -> None:
    words = [f"number{at}," for at in range(500)]
    chunks = embedder.split("\n ".join(words))
    assert [word for chunk in chunks for word in chunk.split()] == words
    sizes = [count(embedder, chunk) for chunk in chunks]
    assert max(sizes) <= embedder.max_tokens
    assert min(sizes) > embedder.max_tokens // 2


_PIECES = st.sampled_from(
    ["word", "Straße", "海", "x" * 120, ".", "...", " ", "\n\n", "👍🏽", "é", "한국", "ไทย", "\x00"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(_PIECES, st.text(st.characters(codec="utf-8"), max_size=5)), max_size=40),
    st.integers(1, 60),
)
def test_every_chunk_is_read_whole_and_nothing_is_lost(
    embedder: LocalOnnxEmbedder, pieces: list[str], times: int
) -> None:
    text = "".join(pieces) * times
    chunks = embedder.split(text)
    assert all(count(embedder, chunk) <= embedder.max_tokens for chunk in chunks)
    if chunks and len(chunks) < MAX_CHUNKS:
        assert "".join("".join(chunks).split()) == "".join(text.split())


async def test_the_end_of_a_long_text_is_found_through_its_chunk(embedder: LocalOnnxEmbedder) -> None:
    text = "The committee met and discussed the budget of the harbour. " * 60 + "Lena is allergic to peanuts."
    (query,) = await embed(embedder, "Who has a peanut allergy?")
    chunks = await embed(embedder, *embedder.split(text))
    (whole,) = await embed(embedder, text)
    assert max(dot(query, chunk) for chunk in chunks) > dot(query, whole) + 0.1


async def test_the_model_runs_off_the_event_loop_in_few_threads(
    embedder: LocalOnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    read_ids = embedder._read_ids

    def note(text: str) -> list[int]:
        seen.add(threading.current_thread().name)
        return read_ids(text)

    monkeypatch.setattr(embedder, "_read_ids", note)
    await asyncio.gather(*(embedder.embed([str(at)], DOCUMENT) for at in range(20)))
    assert len(seen) <= LOCAL_RUNS
    assert threading.current_thread().name not in seen


async def test_a_closed_embedder_says_so() -> None:
    embedder = LocalOnnxEmbedder()
    await embedder.aclose()
    with pytest.raises(EmbeddingError):
        await embedder.embed(["a"], DOCUMENT)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_onnx, "_PACKAGE", "ricordo_no_such_package")
    with pytest.raises(EmbeddingError, match=r"ricordo\[local\]"):
        LocalOnnxEmbedder()


async def test_two_threads_give_the_same_vectors_through_the_loader(embedder: LocalOnnxEmbedder) -> None:
    loaded = load_embedder(EmbeddingSettings(threads=2))
    assert (loaded.name, loaded.dimension, loaded.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)
    (vector,) = await loaded.embed(["Lena moved to Porto."], DOCUMENT)
    assert vector == pytest.approx((await embed(embedder, "Lena moved to Porto."))[0], abs=1e-5)
    await loaded.aclose()
