import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from ricordo_server.domain.ports import MAX_CHUNKS, EmbeddingError, EmbeddingKind
from ricordo_server.embedding import EmbeddingSettings, load_embedder
from ricordo_server.embedding.openai import OpenAIEmbedder
from tests.fixtures.fake_openai import BAD_MARK, FAR_MARK, FakeOpenAI

DOCUMENT, QUERY = EmbeddingKind.DOCUMENT, EmbeddingKind.QUERY
Make = Callable[..., OpenAIEmbedder]


class WordCounter:
    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def make(fake: FakeOpenAI) -> AsyncIterator[Make]:
    made: list[OpenAIEmbedder] = []

    def make_one(**changes: Any) -> OpenAIEmbedder:
        settings: dict[str, Any] = {
            "base_url": fake.base_url,
            "api_key": "k",
            "model": "m",
            "dimension": 8,
            "max_retries": 0,
        }
        made.append(
            OpenAIEmbedder(EmbeddingSettings(provider="openai", **(settings | changes)), WordCounter())
        )
        return made[-1]

    yield make_one
    for one in made:
        await one.aclose()


async def fail(call: Awaitable[Any]) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        await call
    return caught.value


async def test_vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_reply(
    fake: FakeOpenAI, make: Make
) -> None:
    fake.reverse = True
    vectors = await make().embed(["one", "two", "three"], DOCUMENT)
    for text, vector in zip(["one", "two", "three"], vectors, strict=True):
        raw = fake.embed(text)
        assert vector == pytest.approx([value / math.hypot(*raw) for value in raw])


async def test_the_key_the_model_and_plain_floats_are_asked_for(fake: FakeOpenAI, make: Make) -> None:
    await make().embed(["one"], DOCUMENT)
    assert fake.requests == [{"model": "m", "input": ["one"], "encoding_format": "float"}]
    assert fake.keys == ["Bearer k"]


async def test_shorter_vectors_are_asked_for_when_set(fake: FakeOpenAI, make: Make) -> None:
    await make(send_dimension=True).embed(["one"], DOCUMENT)
    assert fake.requests[0]["dimensions"] == 8


async def test_prefixes_follow_the_kind(fake: FakeOpenAI, make: Make) -> None:
    embedder = make(query_prefix="query: ", document_prefix="passage: ")
    await embedder.embed(["one"], QUERY)
    await embedder.embed(["one"], DOCUMENT)
    assert fake.inputs == [["query: one"], ["passage: one"]]


async def test_a_call_is_cut_into_requests_of_the_batch_size(fake: FakeOpenAI, make: Make) -> None:
    vectors = await make(batch_size=2).embed(["a", "b", "c", "d", "e"], DOCUMENT)
    assert fake.inputs == [["a", "b"], ["c", "d"], ["e"]]
    assert None not in vectors


async def test_one_bad_text_yields_none_and_the_others_their_vectors(fake: FakeOpenAI, make: Make) -> None:
    texts = ["a", "b", BAD_MARK, "d", "e"]
    vectors = await make().embed(texts, DOCUMENT)
    assert [vector is None for vector in vectors] == [False, False, True, False, False]


async def test_blank_texts_yield_none_without_a_request(fake: FakeOpenAI, make: Make) -> None:
    assert await make().embed(["", " \n\t"], DOCUMENT) == [None, None]
    assert fake.requests == []


async def test_a_vector_of_zeros_has_no_direction_and_yields_none(make: Make) -> None:
    vectors = await make().embed(["a", FAR_MARK], DOCUMENT)
    assert [vector is None for vector in vectors] == [False, True]


async def test_lone_surrogates_are_sent_as_replacement_characters(fake: FakeOpenAI, make: Make) -> None:
    assert None not in await make().embed(["a\ud800b"], DOCUMENT)
    assert fake.inputs == [["a\ufffdb"]]


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (401, False),
        (403, False),
        (404, False),
        (408, True),
        (409, True),
        (429, True),
        (500, True),
        (503, True),
    ],
)
async def test_a_status_says_whether_to_try_later(
    fake: FakeOpenAI, make: Make, status: int, retryable: bool
) -> None:
    fake.script = [(status, None)]
    assert (await fail(make().embed(["a"], DOCUMENT))).retryable is retryable


@pytest.mark.parametrize("status", [429, 500])
async def test_a_passing_trouble_is_tried_again_within_the_bound(
    fake: FakeOpenAI, make: Make, status: int
) -> None:
    fake.script = [(status, None)] * 2
    assert None not in await make(max_retries=2).embed(["a"], DOCUMENT)
    assert len(fake.requests) == 3
    fake.script = [(status, None)] * 3
    await fail(make(max_retries=2).embed(["a"], DOCUMENT))
    assert len(fake.requests) == 6


async def test_a_provider_that_does_not_answer_is_a_passing_trouble(fake: FakeOpenAI, make: Make) -> None:
    fake.silent = True
    assert (await fail(make(timeout=0.05).embed(["a"], DOCUMENT))).retryable


async def test_a_provider_that_is_away_is_a_passing_trouble(make: Make) -> None:
    with FakeOpenAI() as gone:
        url = gone.base_url
    assert (await fail(make(base_url=url).embed(["a"], DOCUMENT))).retryable


async def test_a_wrong_dimension_is_a_mistake_of_the_set_up(fake: FakeOpenAI, make: Make) -> None:
    error = await fail(make(dimension=9).embed(["a"], DOCUMENT))
    assert not error.retryable
    assert "8" in str(error)
    assert "9" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0] * 8}]},
        {"data": [{"index": 0, "embedding": None}]},
        {"data": [{"index": 0, "embedding": ["x"] * 8}]},
        {"data": [{"index": None, "embedding": [1.0] * 8}, {"index": 0, "embedding": [1.0] * 8}]},
        {"unlike": "anything"},
        ["not", "an", "object"],
    ],
)
async def test_a_reply_that_makes_no_sense_is_an_error_of_ours(
    fake: FakeOpenAI, make: Make, body: object
) -> None:
    fake.script = [(200, body)]
    assert not (await fail(make().embed(["a"], DOCUMENT))).retryable


async def test_a_body_that_ends_in_the_middle_is_a_passing_trouble(fake: FakeOpenAI, make: Make) -> None:
    fake.truncate = True
    error = await fail(make().embed(["a"], DOCUMENT))
    assert error.retryable
    assert "no JSON" in str(error)


def test_a_short_text_is_its_own_chunk(make: Make) -> None:
    assert make(max_tokens=3).split(" one two three ") == ["one two three"]


def test_chunks_leave_room_for_the_prefix_and_lose_no_word(make: Make) -> None:
    words = [f"word{at}" for at in range(100)]
    chunks = make(max_tokens=10, query_prefix="a long prefix ").split(" ".join(words))
    assert " ".join(chunks).split() == words
    assert max(len(chunk.split()) for chunk in chunks) <= 7


def test_the_number_of_chunks_is_bounded(make: Make) -> None:
    assert len(make(max_tokens=1).split("two words " * 5_000)) == MAX_CHUNKS


async def test_the_key_is_not_printed() -> None:
    assert "secret" not in repr(EmbeddingSettings(api_key="secret"))


@pytest.mark.parametrize(
    "changes", [{"model": ""}, {"dimension": 0}, {"max_retries": 6}, {"timeout": 0}, {"batch_size": 0}]
)
def test_settings_without_bounds_are_refused(changes: dict[str, Any]) -> None:
    good: dict[str, Any] = {"model": "m", "dimension": 8}
    with pytest.raises(ValueError, match=r"needs|must"):
        EmbeddingSettings(provider="openai", **(good | changes))


async def test_the_loader_gathers_and_counts_by_the_tokenizer_named(fake: FakeOpenAI) -> None:
    settings = EmbeddingSettings(
        provider="openai", base_url=fake.base_url, model="m", dimension=8, max_tokens=10
    )
    embedder = load_embedder(settings)
    assert (embedder.name, embedder.dimension, embedder.max_tokens) == ("m", 8, 10)
    assert len(embedder.split("我下个月要搬到上海，在一家小公司做软件工程师。")) > 1
    assert None not in await embedder.embed(["a"], QUERY)
    await embedder.aclose()
