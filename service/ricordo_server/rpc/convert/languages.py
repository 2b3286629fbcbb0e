"""Languages of text search."""

from typing import Any

from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.store import LANGUAGES


def decode_language(settings: Any, field: str) -> str | None:
    """None when not given: inherited."""
    if not settings.HasField("language"):
        return None
    if settings.language not in LANGUAGES:
        raise invalid_field(field, f"{field} is no language of text search; accepted: {', '.join(LANGUAGES)}")
    language: str = settings.language
    return language
