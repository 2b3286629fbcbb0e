"""Reranks through the `/rerank` that Cohere, Jina, Voyage, vLLM, llama.cpp and Text Embeddings Inference serve.

They differ little: the texts are `documents` or `texts`; the answer is a list, or has one in `results` or `data`; a
score is `relevance_score` or `score`. What only some know (`top_n`, `top_k`, `return_documents`) is not sent: each of
them scores all texts by default.
"""

import asyncio
import json
import math
from collections.abc import Sequence
from typing import Any

import httpx

from ricordo_server.domain.ports import RerankError
from ricordo_server.reranking.settings import RerankSettings

# Texts may come back with their scores: a thousand of the longest fit. Beyond, it is no answer.
MAX_ANSWER_BYTES = 8 * 1024 * 1024


class HttpReranker:
    """One request for each call, never repeated: a context does not wait for a second try."""

    def __init__(self, settings: RerankSettings) -> None:
        self.name = settings.model
        self.max_documents = settings.max_documents
        self._settings = settings
        self._url = httpx.URL(settings.base_url.rstrip("/") + "/rerank")
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=settings.timeout)

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        cut = [text[: self._settings.max_characters] for text in texts]
        body: dict[str, Any] = {"model": self.name, "query": query, self._settings.texts_field: cut}
        if self._settings.texts_field == "texts":
            body["truncate"] = True  # else one long text is refused, and all others with it
        try:
            async with asyncio.timeout(self._settings.timeout):
                return _read_scores(await self._ask(body), len(texts))
        except httpx.HTTPError as error:
            raise RerankError(f"the reranker failed: {type(error).__name__}", is_outage=True) from error

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _ask(self, body: dict[str, Any]) -> Any:
        async with self._client.stream("POST", self._url, json=body) as answer:
            if answer.status_code != httpx.codes.OK:
                is_outage = answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS
                raise RerankError(f"the reranker answered HTTP {answer.status_code}", is_outage=is_outage)
            read = bytearray()
            async for part in answer.aiter_bytes():
                read += part
                if len(read) > MAX_ANSWER_BYTES:
                    raise RerankError(f"the reranker's answer has more than {MAX_ANSWER_BYTES} bytes")
        return _parse(bytes(read))


def _parse(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise RerankError("the reranker's answer is no JSON") from error


def _read_scores(answer: Any, expected: int) -> list[float]:
    """One finite score for each text, in the order asked: anything else is no ranking."""
    try:
        items = answer if isinstance(answer, list) else answer.get("results") or answer["data"]
        scores = {item["index"]: float(item.get("relevance_score", item.get("score"))) for item in items}
        indexes = sorted(scores)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise RerankError("the reranker's answer holds no scores") from error
    if len(items) != expected or indexes != list(range(expected)):
        raise RerankError(f"asked for {expected} scores, got {len(items)} of {len(scores)} texts")
    if not all(map(math.isfinite, scores.values())):
        raise RerankError("the reranker's answer holds a score that is no finite number")
    return [scores[at] for at in range(expected)]
