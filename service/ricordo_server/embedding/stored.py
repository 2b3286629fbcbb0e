"""An embedder's settings as they stand in the database: what identifies the model, and no secret."""

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ricordo_server.domain.ports import EmbeddingError
from ricordo_server.embedding.settings import EmbeddingSettings

# The rest (time-outs, batches, threads) is each server's own to choose.
STORED = (
    "provider",
    "model",
    "base_url",
    "api_key",
    "dimension",
    "send_dimension",
    "max_tokens",
    "tokenizer",
    "query_prefix",
    "document_prefix",
)
REFERENCES = ("env:", "file:")


def is_reference(secret: str) -> bool:
    """Whether it says where the secret is, `env:NAME` or `file:PATH`, and is not the secret itself."""
    return secret.startswith(REFERENCES)


def store_settings(settings: EmbeddingSettings) -> dict[str, Any]:
    """What to keep of the settings, as JSON.

    Raises:
        ValueError: the API key is the secret itself.
    """
    if settings.api_key and not is_reference(settings.api_key):
        raise ValueError("an API key is stored by reference only: give env:NAME or file:PATH")
    return {name: value for name, value in asdict(settings).items() if name in STORED}


def restore_settings(stored: Mapping[str, Any]) -> EmbeddingSettings:
    """The settings of a stored model, its secret still a reference.

    Raises:
        EmbeddingError: there are none, or they are not this release's.
    """
    if not stored:
        message = "it was registered without its settings: run `ricordo embeddings add` for it"
        raise EmbeddingError(message, retryable=False)
    try:
        return EmbeddingSettings(**stored)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"its settings are not understood: {error}", retryable=False) from error


def resolve_secret(settings: EmbeddingSettings) -> EmbeddingSettings:
    """The settings with the secret that their reference names.

    Raises:
        EmbeddingError: this process has no such variable, or cannot read the file.
    """
    kind, _, place = settings.api_key.partition(":")
    if kind == "env":
        secret = os.environ.get(place, "")
    elif kind == "file":
        secret = _read(Path(place))
    else:
        return settings
    if not secret:
        raise EmbeddingError(
            f"there is no API key in {settings.api_key}: set it for this process", retryable=False
        )
    return replace(settings, api_key=secret)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddingError(
            f"the API key in file:{path} cannot be read: {error}", retryable=False
        ) from error
