"""One block of context for the next prompt: `client.context`."""

from collections.abc import Iterable

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._convert.contexts import build_request, decode_context
from ricordo.models import ContextFormat, Visibility


class AsyncContexts:
    """Builds context."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def build(
        self,
        query: str,
        *,
        sources: Iterable[models.SourceSpec] = (),
        scope: models.ScopeFilter | None = None,
        visibility: Visibility | str | None = None,
        max_tokens: int | None = None,
        format_style: ContextFormat | str | None = None,
        include_memories: bool = False,
        explain: bool = False,
        rerank: bool = False,
        store: str | None = None,
        timeout: float | None = None,
    ) -> models.Context:
        """Retrieves from several sources, ranks together, drops near-duplicates, fits a budget and renders.

        One failing source does not fail the call: see `source_outcomes`.

        Args:
            query: What the context is for, at most 8 KiB.
            sources: Where to look, each source at most once; none: episodic and semantic.
            scope: Whose; None: every row that the credential may read.
            visibility: Only memories of that one; turns are private.
            max_tokens: The gross budget, above 0, of which 500 are kept for formatting; None: the
                project's default, else 4,000.
            format_style: `markdown`, `claude` (XML) and `jinja2` (the project's template) render text, `openai`
                messages; None: the project's default, else `markdown`.
            include_memories: Also return the selected chunks.
            explain: Also say what was left out, and why.
            rerank: Order by a reranker where the server has one: `ranking_strategy` tells.
            store: The store; None: `default`.
            timeout: Seconds, retries included; None: the client's.

        Raises:
            MemoryClientError: A filter is malformed.
            ServiceUnavailableError: Every source failed.
        """
        request = build_request(
            query,
            sources=sources,
            scope=scope,
            visibility=visibility,
            max_tokens=max_tokens,
            format_style=format_style,
            include_memories=include_memories,
            explain=explain,
            rerank=rerank,
            store=store,
        )
        reply = await self._connection.call(lambda stubs: stubs.contexts.BuildContext, request, timeout)
        return decode_context(reply)
