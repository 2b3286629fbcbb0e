"""What the domain asks of the outside: an embedder, a reranker and a counter of tokens."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

# Of unit length. Plain floats, so that neither the domain nor the database room needs numpy.
Vector: TypeAlias = Sequence[float]

# 256 KiB of English, the most one memory holds, is about 235 chunks of 254 tokens; a bound keeps a text of
# one token per byte from costing a thousand runs of the model. What lies beyond is found by text alone.
MAX_CHUNKS = 256


class EmbeddingKind(StrEnum):
    """Asymmetric models embed a question and what answers it differently."""

    QUERY = "query"
    DOCUMENT = "document"


class EmbeddingError(Exception):
    """No text of a call could be embedded. `retryable` says whether the same call may succeed later."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class Embedder(Protocol):
    """Turns texts into vectors of one model.

    Attributes:
        name: The model's identity, stored beside each vector; vectors of two names are never compared.
        dimension: Numbers per vector.
        max_tokens: The longest text the model reads whole, in its own tokens; longer ones are cut at the end.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        """Embed each text; the answer has the order and the length of `texts`.

        Returns:
            Vectors of unit length, or None for a text that can never be embedded (blank, or refused alone).

        Raises:
            EmbeddingError: Nothing could be embedded: the provider is away, overloaded or misconfigured.
        """
        ...

    def split(self, text: str) -> list[str]:
        """Cut a text into chunks that the model reads whole, on word boundaries, at most `MAX_CHUNKS`.

        A text short enough is its own only chunk; a blank text has none. CPU work, up to 0.2 s for 256 KiB:
        call it through `asyncio.to_thread` for texts over a few KiB.
        """
        ...

    async def aclose(self) -> None:
        """Free threads and connections; calls after it fail."""
        ...


class RerankError(Exception):
    """The texts of a call could not be scored. `is_outage`: no others could be, either."""

    def __init__(self, message: str, *, is_outage: bool = False) -> None:
        super().__init__(message)
        self.is_outage = is_outage


class RerankerPausedError(RerankError):
    """The reranker was not asked, since it failed so often just now."""


class Reranker(Protocol):
    """Scores texts by what they say to a query, reading both together.

    Attributes:
        name: The model's.
        max_documents: The most texts of one call.
    """

    @property
    def name(self) -> str: ...
    @property
    def max_documents(self) -> int: ...

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """A finite score for each text, in their order; larger is better, on a scale of the model's own.

        Raises:
            RerankError: There is no score for each of them.
            TimeoutError: It took longer than the reranker is given.
        """
        ...

    async def aclose(self) -> None:
        """Free connections; calls after it fail."""
        ...


class TokenCounter(Protocol):
    """Counts a text's tokens by a tokenizer with a `name`, such as "o200k_base"."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int:
        """The text's number of tokens; 0 for an empty one. Never raises, whatever the text holds."""
        ...
