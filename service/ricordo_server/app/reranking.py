"""The order of a context by a reranker, or why it could not be had."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.domain.context import Chunk, LeftOut
from ricordo_server.domain.context_entries import entry_of
from ricordo_server.domain.near_duplicates import take_distinct
from ricordo_server.domain.ports import RerankerPausedError, RerankError
from ricordo_server.domain.ranking import RECIPROCAL_RANK, RERANKED, reorder, without_reranker

log = logging.getLogger(__name__)

# Of the time left for a call: the context must still be rendered.
SHARE_OF_DEADLINE = 0.5


@dataclass(frozen=True)
class Ranking:
    """The candidates, best first, and what put them in order."""

    chunks: Sequence[Chunk]
    strategy: str = RECIPROCAL_RANK
    left_out: Sequence[LeftOut] = ()


async def rerank(services: Services, call: Call, query: str, ranked: Sequence[Chunk]) -> Ranking:
    """The best candidates by the reranker's scores, without near-duplicates; those it is not asked about stay behind.

    A reranker that is not there, slow or broken costs its order, never the context.
    """
    reranker = services.reranker
    if reranker is None:
        return Ranking(ranked, without_reranker("not_configured"))
    if not ranked:
        return Ranking(ranked)
    distinct = await asyncio.to_thread(take_distinct, ranked, reranker.max_documents)
    try:
        async with asyncio.timeout(call.remaining * SHARE_OF_DEADLINE):
            scores = await reranker.rerank(query, [_text(chunk) for chunk in distinct.kept])
    except TimeoutError:
        log.warning("not reranked", extra={"cause": "the reranker took too long"})
        return Ranking(ranked, without_reranker("timeout"))
    except RerankerPausedError as error:
        log.info("not reranked", extra={"cause": str(error)})
        return Ranking(ranked, without_reranker("unavailable"))
    except RerankError as error:
        log.warning("not reranked", extra={"cause": str(error)})
        return Ranking(ranked, without_reranker("failed"))
    chunks = [*reorder(distinct.kept, scores), *distinct.rest]
    return Ranking(chunks, RERANKED + reranker.name, distinct.left_out)


def _text(chunk: Chunk) -> str:
    entry = entry_of(chunk.item)
    return f"{entry.label}: {entry.body}" if entry.label else entry.body
