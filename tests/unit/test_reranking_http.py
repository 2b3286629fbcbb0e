"""The reranker against a real HTTP server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from ricordo_server.domain.ports import Reranker, RerankError
from ricordo_server.reranking import RerankSettings, load_reranker
from ricordo_server.reranking.http import MAX_ANSWER_BYTES
from tests.fixtures.fake_reranker import FakeReranker

TEXTS = ["aa", "a", "aaa"]


@pytest.fixture
def fake() -> Iterator[FakeReranker]:
    with FakeReranker() as one:
        yield one


@pytest.fixture
async def reranker(fake: FakeReranker) -> AsyncIterator[Reranker]:
    async for one in opened(RerankSettings(fake.base_url, "cross", "secret")):
        yield one


async def opened(settings: RerankSettings) -> AsyncIterator[Reranker]:
    one = load_reranker(settings)
    assert one
    yield one
    await one.aclose()


def ranked(*scores: Any, score: str = "relevance_score") -> list[dict[str, Any]]:
    return [{"index": at, score: value} for at, value in enumerate(scores)]


async def test_scores_come_in_the_order_of_the_texts(fake: FakeReranker, reranker: Reranker) -> None:
    assert await reranker.rerank("q", TEXTS) == [2.0, 1.0, 3.0]
    assert fake.requests == [{"model": "cross", "query": "q", "documents": TEXTS}]
    assert fake.keys == ["Bearer secret"]


@pytest.mark.parametrize(
    "body",
    [
        {"data": ranked(0.5, -1, 2)},
        ranked(0.5, -1, 2, score="score"),
        {"model": "x", "results": ranked(0.5, -1, 2)[::-1]},
    ],
)
async def test_the_usual_shapes_of_an_answer_are_read(
    fake: FakeReranker, reranker: Reranker, body: Any
) -> None:
    fake.body = body
    assert await reranker.rerank("q", TEXTS) == [0.5, -1.0, 2.0]


async def test_texts_inference_is_asked_in_its_own_words(fake: FakeReranker) -> None:
    async for one in opened(RerankSettings(fake.base_url, "cross", texts_field="texts")):
        assert await one.rerank("q", TEXTS) == [2.0, 1.0, 3.0]
    assert fake.requests == [{"model": "cross", "query": "q", "texts": TEXTS, "truncate": True}]
    assert fake.keys == [""]


async def test_long_texts_are_cut(fake: FakeReranker) -> None:
    async for one in opened(RerankSettings(fake.base_url, "cross", max_characters=2)):
        assert await one.rerank("q", ["abcdef"]) == [2.0]


@pytest.mark.parametrize("status", [301, 401, 404, 422, 429, 500, 503])
async def test_a_refusal_is_told_by_its_status(fake: FakeReranker, reranker: Reranker, status: int) -> None:
    fake.status = status
    with pytest.raises(RerankError, match=str(status)):
        await reranker.rerank("q", TEXTS)
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[" * 100_000, b'{"results": [{"index": 0, "relevance_score": 1e', None, {}, {"results": []},
        {"results": {}}, {"results": ["a", "b", "c"]}, {"results": [1, 2, 3]}, "scores", 7, {"results": ranked()},
        {"results": ranked(1, 2)}, {"results": ranked(1, 2, 3, 4)}, {"results": ranked(1, 2, None)},
        {"results": ranked(1, 2, "high")}, {"results": ranked(1, 2, [3])}, {"results": ranked(1, 2, float("nan"))},
        {"results": ranked(1, 2, float("inf"))}, {"results": ranked(1, 2, 10**400)},
        {"results": [*ranked(1, 2), {"index": 1, "relevance_score": 3}]},
        {"results": [*ranked(1, 2, 3), {"index": 1, "relevance_score": 3}]},
        {"results": [*ranked(1, 2), {"index": -1, "relevance_score": 3}]},
        {"results": [*ranked(1, 2), {"index": "2", "relevance_score": 3}]},
        {"results": [*ranked(1, 2), {"relevance_score": 3}]}, {"results": [*ranked(1, 2), {"index": 2}]},
        {"results": [*ranked(1, 2), {"index": [2], "relevance_score": 3}]},
    ],
)  # fmt: skip
async def test_an_answer_that_does_not_score_each_text_once_is_no_ranking(
    fake: FakeReranker, reranker: Reranker, body: Any
) -> None:
    fake.body = b"null" if body is None else body
    with pytest.raises(RerankError):
        await reranker.rerank("q", TEXTS)


async def test_an_answer_without_an_end_is_not_read_to_it(fake: FakeReranker, reranker: Reranker) -> None:
    fake.body = b" " * (MAX_ANSWER_BYTES + 1)
    with pytest.raises(RerankError, match="bytes"):
        await reranker.rerank("q", TEXTS)


async def test_a_silent_server_is_given_up(fake: FakeReranker) -> None:
    fake.silent = True
    async for one in opened(RerankSettings(fake.base_url, "cross", timeout=0.05)):
        with pytest.raises(TimeoutError):
            await one.rerank("q", TEXTS)


async def test_a_server_that_is_not_there_is_said() -> None:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async for one in opened(RerankSettings(f"http://127.0.0.1:{port}", "cross")):
        with pytest.raises(RerankError, match="ConnectError"):
            await one.rerank("q", TEXTS)


def test_without_an_address_there_is_none() -> None:
    assert load_reranker(RerankSettings()) is None


@pytest.mark.parametrize(
    "wrong",
    [{"base_url": "localhost"}, {"model": ""}, {"timeout": 0}, {"max_documents": 0}, {"max_documents": 1001},
     {"max_characters": 0}],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    values: dict[str, Any] = {"base_url": "http://localhost/v1", "model": "cross", **wrong}
    with pytest.raises(ValueError, match=r"must|needs"):
        RerankSettings(**values)


def test_the_key_is_not_printed() -> None:
    assert "secret" not in repr(RerankSettings("http://localhost", "cross", "secret"))
