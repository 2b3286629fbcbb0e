"""Several sources at once: ranked chunks, or one block of context."""

from collections.abc import Collection, Sequence
from functools import partial

from ricordo import identity, models
from ricordo._aio import gather
from ricordo._async.facade.operations import AsyncOperations
from ricordo._convert import facade
from ricordo._convert.chunks import context_response, merge_chunks
from ricordo.filters import FilterInput
from ricordo.models import ContextFormat, ContextSource, MemoryChunk, SearchMode, Visibility


class AsyncRetrieval(AsyncOperations):
    """Search and context across sources."""

    async def search(
        self,
        query: str,
        *,
        sources: ContextSource | str | Sequence[ContextSource | str] | None = None,
        top_k: int = 10,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        session_id: str | None = None,
        domain: str | None = None,
        tags: Sequence[str] | None = None,
        similarity_threshold: float = 0.0,
        metadata_filter: FilterInput | None = None,
        mode: SearchMode | str = SearchMode.SEMANTIC,
        timeout: float | None = None,
    ) -> list[MemoryChunk]:
        """Finds memories of several sources, best first; one failing source fails the call.

        Args:
            query: What to look for, at most 8 KiB.
            sources: Where; None: semantic and episodic. Not `stm`.
            top_k: How many in all, 1 to 200.
            user_id: Only that user's.
            visibility: Only that one; `org` ignores the user of the ambient context; `readable`: the user's own and
                all that is shared.
            session_id: Only episodes of that session; taken from this call alone, for most episodes have none.
            domain: Only terms of that domain.
            tags: Only procedures that have all of these.
            similarity_threshold: Only procedures of at least that cosine similarity; 0.0: all.
            metadata_filter: Only those that meet it, in every source: see `ricordo.filters`.
            mode: How to look.
            timeout: Seconds for each source.

        Raises:
            MemoryClientError: No such source, the filter is malformed, or `domain`, `tags` or `similarity_threshold`
                concern none of the sources.
        """
        reading = self._reading(visibility, user_id=user_id, session_id=session_id, own_session_only=True)
        searches = facade.plan_searches(
            sources,
            reading,
            domain=domain,
            tags=tags,
            similarity_threshold=similarity_threshold,
            metadata_filter=metadata_filter,
        )
        await self._guard.check()
        find = partial(self._find, query, top_k=top_k, mode=mode, timeout=timeout)
        found = await gather([partial(find, search, reading.visibility) for search in searches])
        return merge_chunks((chunk for chunks in found for chunk in chunks), top_k)

    async def build_context(
        self,
        query: str,
        user_id: str | None = None,
        session_id: str | None = None,
        visibility: Visibility | str | None = None,
        metadata_filter: FilterInput | None = None,
        enabled_sources: Collection[str] | None = None,
        *,
        thread_id: str | None = None,
        max_tokens: int | None = None,
        format_style: ContextFormat | str | None = None,
        include_memories: bool = False,
        explain: bool = False,
        timeout: float | None = None,
    ) -> models.ContextResponse:
        """Builds one block of context for the next prompt, by semantic search.

        Args:
            query: What the context is for, at most 8 KiB.
            user_id: Only that user's.
            session_id: The session whose turns the source `stm` reads.
            visibility: Only memories of that one; `org` ignores the user of the ambient context; `readable`: the
                user's own and all that is shared.
            metadata_filter: A condition on every source: see `ricordo.filters`.
            enabled_sources: Where to look; None: episodic and semantic.
            thread_id: The older name of `session_id`.
            max_tokens: The gross budget, of which 500 are kept for formatting; None: the project's default, else
                4,000.
            format_style: `openai` answers a list of messages; `claude` XML text; `markdown` Markdown; `jinja2` text
                by the project's template; None: the project's default, else `markdown`.
            include_memories: Also answer the selected chunks.
            explain: Also answer what was left out, and why.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: `stm` is asked for and nobody names a session.
            MemoryClientError: An argument makes no sense.
            ServiceUnavailableError: Every source failed.
        """
        return await self.build_context_from_sources(
            query,
            facade.specs_of(enabled_sources, metadata_filter),
            user_id=user_id,
            session_id=session_id,
            visibility=visibility,
            thread_id=thread_id,
            max_tokens=max_tokens,
            format_style=format_style,
            include_memories=include_memories,
            explain=explain,
            timeout=timeout,
        )

    async def build_context_from_sources(
        self,
        query: str,
        sources: Sequence[models.SourceSpec],
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        visibility: Visibility | str | None = None,
        rerank: bool = False,
        thread_id: str | None = None,
        max_tokens: int | None = None,
        format_style: ContextFormat | str | None = None,
        include_memories: bool = False,
        explain: bool = False,
        timeout: float | None = None,
    ) -> models.ContextResponse:
        """Builds one block of context for the next prompt, each source asked in its own way.

        The arguments are those of `build_context`, and:

        Args:
            query: What the context is for, at most 8 KiB.
            sources: How each source is asked; at least one, each at most once.
            user_id: See `build_context`.
            session_id: See `build_context`.
            visibility: See `build_context`.
            rerank: Order by a reranker where the server has one: `metadata.ranking_strategy` tells.
            thread_id: See `build_context`.
            max_tokens: See `build_context`.
            format_style: See `build_context`.
            include_memories: See `build_context`.
            explain: See `build_context`.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: `stm` is asked for and nobody names a session.
            MemoryClientError: An argument makes no sense.
            ServiceUnavailableError: Every source failed.
        """
        reading = self._reading(
            visibility, user_id=user_id, session_id=facade.session_of(session_id, thread_id)
        )
        with_turns = any(spec.source is ContextSource.STM for spec in facade.check_specs(sources))
        if with_turns:
            identity.require(reading.session_id, "session_id", "the source stm")
        style = facade.style_of(format_style)
        budget = facade.check_max_tokens(max_tokens)
        await self._guard.check()
        context = await self._client.context.build(
            query,
            sources=sources,
            scope=reading.scope(session=with_turns),
            visibility=reading.visibility,
            max_tokens=budget,
            format_style=style,
            include_memories=include_memories,
            explain=explain,
            rerank=rerank,
            store=self._store,
            timeout=timeout,
        )
        return context_response(context, selected=include_memories, explain=explain)
