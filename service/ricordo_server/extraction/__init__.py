"""Turns text into candidates for memories: by rules, or by a model behind an OpenAI-compatible API."""

from ricordo_server.extraction.extractors import Extractors
from ricordo_server.extraction.settings import Endpoint, ExtractionSettings

__all__ = ["Endpoint", "ExtractionSettings", "Extractors"]
