"""Turns text into vectors: a local model, a remote one, or hashes for tests; and counts tokens."""

from collections.abc import Mapping
from typing import Any

from ricordo_server.domain.ports import Embedder, EmbeddingError, EmbeddingKind
from ricordo_server.embedding.batching import BatchingEmbedder
from ricordo_server.embedding.settings import EmbeddingSettings
from ricordo_server.embedding.stored import resolve_secret, restore_settings

__all__ = ["EmbeddingSettings", "load_embedder", "load_stored_embedder", "probe_embedder"]

PROBE = "a sentence to try the model with"


def load_embedder(settings: EmbeddingSettings) -> Embedder:
    """Load the provider's embedder behind one that gathers concurrent calls; the local model takes 0.3 s.

    Raises:
        EmbeddingError: The local model's package is not installed; the message says which extra has it. Or the
            API key is not where its reference says.
    """
    settings = resolve_secret(settings)
    inner = _load_provider(settings)
    return BatchingEmbedder(
        inner,
        batch_size=settings.choose_batch_size(),
        max_waiting=settings.max_waiting,
        parallel=settings.choose_parallel(),
        works_here=settings.provider != "openai",
    )


async def probe_embedder(settings: EmbeddingSettings) -> tuple[str, int]:
    """Embed a sentence; the model's name and the numbers of its vectors.

    Raises:
        EmbeddingError: It cannot be loaded or reached, or answers vectors of another length than is set up.
    """
    embedder = load_embedder(settings)
    try:
        [vector] = await embedder.embed([PROBE], EmbeddingKind.DOCUMENT)
    finally:
        await embedder.aclose()
    if vector is None or len(vector) != embedder.dimension:
        numbers = 0 if vector is None else len(vector)
        message = f"it answers {numbers} numbers, not {embedder.dimension}: correct the dimension"
        raise EmbeddingError(message, retryable=False)
    return embedder.name, embedder.dimension


def load_stored_embedder(stored: Mapping[str, Any]) -> Embedder:
    """Load the embedder of settings that stand in the database.

    Raises:
        EmbeddingError: As `load_embedder`, or the settings are missing or not understood.
    """
    return load_embedder(restore_settings(stored))


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
