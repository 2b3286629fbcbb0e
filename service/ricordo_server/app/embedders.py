"""The embedders of this process: the configured one, and those of other models once a project uses them."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from ricordo_server.db.connection import Pool
from ricordo_server.db.embedding_models import list_model_settings
from ricordo_server.domain.embedding_model import EmbeddingModel
from ricordo_server.domain.ports import Embedder, EmbeddingError

log = logging.getLogger(__name__)

# Seconds before a model that could not be loaded is tried again: an attempt costs a query and up to half a second.
PATIENCE = 30.0


class Embedders:
    """One embedder a model, loaded when it is first asked for, by what is stored with the model."""

    def __init__(
        self, pool: Pool, configured: Embedder, load: Callable[[Mapping[str, Any]], Embedder]
    ) -> None:
        """`load` makes an embedder of stored settings; it may block, and raises EmbeddingError."""
        self._pool = pool
        self._load = load
        self._loaded = {configured.name: configured}
        self._failed: dict[str, tuple[float, EmbeddingError]] = {}
        self._lock = asyncio.Lock()

    async def get(self, model: EmbeddingModel) -> Embedder:
        """The model's embedder.

        Raises:
            EmbeddingError: this server cannot load it.
        """
        found = self._loaded.get(model.name)
        if found is None:
            async with self._lock:
                found = self._loaded.get(model.name) or await self._try(model)
        return found

    async def _try(self, model: EmbeddingModel) -> Embedder:
        until, known = self._failed.get(model.name, (0.0, None))
        if known is not None and time.monotonic() < until:
            raise known
        try:
            embedder = await self._open(model)
        except EmbeddingError as error:
            log.warning(
                "an embedding model cannot be loaded", extra={"model": model.name, "cause": str(error)}
            )
            self._failed[model.name] = (time.monotonic() + PATIENCE, error)
            raise
        self._loaded[model.name] = embedder
        return embedder

    async def _open(self, model: EmbeddingModel) -> Embedder:
        settings = await list_model_settings(self._pool)
        embedder = await asyncio.to_thread(self._load, settings[model.name])
        if (embedder.name, embedder.dimension) != (model.name, model.dimension):
            await embedder.aclose()
            message = (
                f"{model.name} is registered with {model.dimension} numbers, its settings make {embedder.name} "
                f"with {embedder.dimension}: run `ricordo embeddings add` again"
            )
            raise EmbeddingError(message, retryable=False)
        return embedder

    async def aclose(self) -> None:
        """Closes them all."""
        for embedder in self._loaded.values():
            await embedder.aclose()
