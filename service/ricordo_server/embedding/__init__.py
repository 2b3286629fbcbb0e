"""Turns text into vectors: a local model, a remote one, or hashes for tests; and counts tokens."""

from ricordo_server.domain.ports import Embedder
from ricordo_server.embedding.batching import BatchingEmbedder
from ricordo_server.embedding.settings import EmbeddingSettings

__all__ = ["EmbeddingSettings", "load_embedder"]


def load_embedder(settings: EmbeddingSettings) -> Embedder:
    """Load the provider's embedder behind one that gathers concurrent calls; the local model takes 0.3 s.

    Raises:
        EmbeddingError: The local model's package is not installed; the message says which extra has it.
    """
    inner = _load_provider(settings)
    parallel = settings.parallel if settings.provider == "openai" else 1
    return BatchingEmbedder(
        inner, batch_size=settings.choose_batch_size(), max_waiting=settings.max_waiting, parallel=parallel
    )


def _load_provider(settings: EmbeddingSettings) -> Embedder:
    """Imports inside: each provider's libraries are heavy, and the local ones come with an extra."""
    if settings.provider == "hashing":
        from ricordo_server.embedding.hashing import HashingEmbedder

        return HashingEmbedder(settings.dimension or 64)
    if settings.provider == "openai":
        from ricordo_server.embedding.openai import OpenAIEmbedder
        from ricordo_server.embedding.tokens import GptTokenCounter

        return OpenAIEmbedder(settings, GptTokenCounter(settings.tokenizer))
    from ricordo_server.embedding.local_onnx import LocalOnnxEmbedder

    return LocalOnnxEmbedder(threads=settings.threads)
