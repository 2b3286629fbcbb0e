"""Scores texts by what they say to a query, through a server that has a cross-encoder."""

from ricordo_server.domain.ports import Reranker
from ricordo_server.reranking.circuit_breaker import CircuitBreaker
from ricordo_server.reranking.http import HttpReranker
from ricordo_server.reranking.settings import RerankSettings

__all__ = ["RerankSettings", "load_reranker"]


def load_reranker(settings: RerankSettings) -> Reranker | None:
    """The reranker of the settings; None when they name no server."""
    if not settings.base_url:
        return None
    return CircuitBreaker(HttpReranker(settings), timeout=settings.timeout)
