"""Embeds through any OpenAI-compatible `/v1/embeddings`, with the official SDK."""

import logging
from collections.abc import Sequence

from openai import (
    APIConnectionError,
    APIStatusError,
    AsyncOpenAI,
    BadRequestError,
    OpenAIError,
    UnprocessableEntityError,
    omit,
)
from openai.types import CreateEmbeddingResponse

from ricordo_server.domain.ports import EmbeddingError, EmbeddingKind, TokenCounter, Vector
from ricordo_server.embedding.chunks import repair_surrogates, scale_to_unit, split_in_halves
from ricordo_server.embedding.settings import EmbeddingSettings

_log = logging.getLogger(__name__)
# Statuses that the SDK retries, and that may be gone later: time-out, conflict, too many requests, 5xx.
_PASSING_STATUSES = frozenset({408, 409, 429})


class OpenAIEmbedder:
    """A remote model. One bad text costs a few more requests, not its batch."""

    def __init__(self, settings: EmbeddingSettings, counter: TokenCounter) -> None:
        self.name = settings.model
        self.dimension = settings.dimension
        self.max_tokens = settings.max_tokens
        self._settings = settings
        self._counter = counter
        self._prefixes = {
            EmbeddingKind.QUERY: settings.query_prefix,
            EmbeddingKind.DOCUMENT: settings.document_prefix,
        }
        # The SDK refuses an empty key, but servers of one's own often want none.
        self._client = AsyncOpenAI(
            base_url=settings.base_url or None,
            api_key=settings.api_key or "none",
            timeout=settings.timeout,
            max_retries=settings.max_retries,
        )

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        answers: list[Vector | None] = [None] * len(texts)
        # Blank texts are refused by most providers: no request is spent on them.
        wanted = [at for at, text in enumerate(texts) if text.strip()]
        inputs = [self._prefixes[kind] + repair_surrogates(texts[at]) for at in wanted]
        size = self._settings.choose_batch_size()
        for start in range(0, len(inputs), size):
            vectors = await self._embed_batch(inputs[start : start + size])
            for at, vector in zip(wanted[start : start + size], vectors, strict=True):
                answers[at] = vector
        return answers

    def split(self, text: str) -> list[str]:
        longest_prefix = max(map(self._counter.count, self._prefixes.values()))
        # At least one token, else a prefix longer than the model reads would cut texts into letters.
        room = max(1, self.max_tokens - longest_prefix)
        # No tokenizer here makes more tokens than bytes: most texts need no count.
        return split_in_halves(
            repair_surrogates(text),
            lambda part: len(part.encode()) <= room or self._counter.count(part) <= room,
        )

    async def aclose(self) -> None:
        await self._client.close()

    async def _embed_batch(self, inputs: list[str]) -> list[Vector | None]:
        """A refused batch is asked again in halves, down to the texts that are refused alone."""
        try:
            return list(self._read(await self._request(inputs), len(inputs)))
        except (BadRequestError, UnprocessableEntityError) as error:
            if len(inputs) == 1:
                # The provider's message may quote the text, which does not belong in a log.
                _log.warning("model %s refused a text: HTTP %d %s", self.name, error.status_code, error.code)
                return [None]
        except OpenAIError as error:
            raise _translate(error) from error
        except ValueError as error:  # the SDK lets a body through that ends in the middle
            raise EmbeddingError("the provider's reply is no JSON", retryable=True) from error
        middle = len(inputs) // 2
        return await self._embed_batch(inputs[:middle]) + await self._embed_batch(inputs[middle:])

    async def _request(self, inputs: list[str]) -> CreateEmbeddingResponse:
        dimensions = self.dimension if self._settings.send_dimension else omit
        # "float": the SDK's default of base64 is not understood by every compatible server.
        return await self._client.embeddings.create(
            model=self.name, input=inputs, dimensions=dimensions, encoding_format="float"
        )

    def _read(self, reply: CreateEmbeddingResponse, expected: int) -> list[Vector | None]:
        """The reply's vectors in the order asked. The SDK does not validate what it parses: this does."""
        try:
            found = {item.index: scale_to_unit(item.embedding) for item in reply.data}
            sizes = {len(item.embedding) for item in reply.data}
            indexes = sorted(found)
        except (AttributeError, TypeError) as error:
            raise EmbeddingError("the provider's reply holds no embeddings", retryable=False) from error
        if indexes != list(range(expected)):
            raise EmbeddingError(f"asked for {expected} embeddings, got {len(found)}", retryable=False)
        if sizes != {self.dimension}:
            raise EmbeddingError(
                f"model {self.name} answers vectors of {sorted(sizes)} numbers, {self.dimension} are set up: "
                "correct the dimension, or register the model anew and re-embed",
                retryable=False,
            )
        return [found[at] for at in range(expected)]


def _translate(error: OpenAIError) -> EmbeddingError:
    """Passing troubles are retryable; a wrong key, address or model name is not."""
    if isinstance(error, APIStatusError):
        passing = error.status_code in _PASSING_STATUSES or error.status_code >= 500
        return EmbeddingError(f"the embedding provider answered HTTP {error.status_code}", retryable=passing)
    lost = isinstance(error, APIConnectionError)
    return EmbeddingError(f"the embedding provider failed: {type(error).__name__}", retryable=lost)
