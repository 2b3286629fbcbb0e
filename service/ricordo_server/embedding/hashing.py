"""An embedder without a model: words and trigrams hashed into a small vector, the same on every machine."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from ricordo_server.domain.ports import EmbeddingKind, Vector
from ricordo_server.embedding.chunks import repair_surrogates, scale_to_unit, split_in_halves

_WORD = re.compile(r"\w+")
# A word in common says more than a trigram, of which a word has several.
_WORD_WEIGHT, _TRIGRAM_WEIGHT = 1.0, 0.25


class HashingEmbedder:
    """Texts that share words or parts of words are near. For tests and trials: it knows no meaning.

    A text without words gets a fixed vector, so that every text has one; `max_tokens` counts words.
    """

    def __init__(self, dimension: int = 64, max_tokens: int = 256) -> None:
        self.name = f"hashing-{dimension}"
        self.dimension = dimension
        self.max_tokens = max_tokens

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        await asyncio.sleep(0)  # it works on the event loop: others get on between two batches
        return [self._embed_one(text) for text in texts]

    def split(self, text: str) -> list[str]:
        return split_in_halves(text, lambda part: len(_WORD.findall(part)) <= self.max_tokens)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _embed_one(self, text: str) -> Vector:
        values = [0.0] * self.dimension
        for (feature, weight), times in Counter(_read_features(text)).items():
            # blake2b, not hash(): the built-in one differs from process to process.
            number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "big")
            sign = 1.0 if number >> 63 else -1.0
            values[number % self.dimension] += sign * weight * times
        fixed = [1.0] + [0.0] * (self.dimension - 1)
        return scale_to_unit(values) or fixed


def _read_features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(repair_surrogates(text).casefold()):
        yield word, _WORD_WEIGHT
        marked = f"^{word}$"
        for at in range(len(marked) - 2):
            yield marked[at : at + 3], _TRIGRAM_WEIGHT
