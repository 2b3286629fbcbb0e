"""The facade: the memory of one project for agents, in the words of agent-engine memory."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ricordo import identity, models
from ricordo._aio import gather
from ricordo._async.handle import AsyncHandle
from ricordo._convert import enums, facade
from ricordo._convert.chunks import chunk_of_hit, context_response, merge_chunks
from ricordo.filters import FilterInput
from ricordo.models import (
    ContextFormat,
    ContextSource,
    MemoryChunk,
    MemoryKind,
    MemorySource,
    MetadataValue,
    SearchMode,
    Visibility,
)


class AsyncMemory(AsyncHandle):
    """The memory of a project.

    Who a call is for is taken, field by field, from the call, else from `bind`, else from `ambient_context`. None and
    blank values are unset. Reads combine what is given: a user reads all that is that user's; a visibility reads all
    of that visibility; both, what is both; neither, everything the credential may read.

    Failures are `MemoryAPIError`s. `timeout` is in seconds, retries included; None: 30.
    """

    async def record_turn(
        self,
        *,
        role: str,
        content: str | None = None,
        session_id: str | None = None,
        tool_calls: Iterable[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        is_error: bool = False,
        model_name: str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.WriteTurnResult:
        """Records one message of a session; it can be searched when this returns.

        Args:
            role: "user", "assistant", "system", "tool" or a name of your own.
            content: What was said, at most 256 KiB; may be missing beside tool calls.
            session_id: The session.
            tool_calls: The tools the model called, as providers write them.
            tool_call_id: The call this message answers.
            tool_name: The tool that answers.
            is_error: Whether the tool failed.
            model_name: The model that spoke.
            metadata: Pairs of your own.
            idempotency_key: Recording the same key in the session again answers the first turn, for good.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: Nobody names a session.
        """
        who = self._who(session_id=session_id)
        session = identity.require(who.session_id, "session_id", "record_turn")
        turn = models.NewTurn(
            role=role,
            content=content or "",
            tool_calls=facade.tool_calls_of(tool_calls),
            tool_call_id=tool_call_id or "",
            tool_name=tool_name or "",
            is_error=is_error,
            model_name=model_name or "",
            metadata=dict(metadata or {}),
            agent_id=who.agent_id or "",
            idempotency_key=idempotency_key or "",
        )
        await self._guard.check()
        recorded = await self._client.sessions.record_turn(
            turn,
            scope=models.Scope(user_id=who.user_id or "", session_id=session),
            store=self._store,
            timeout=timeout,
        )
        return models.WriteTurnResult(
            id=recorded.turn.turn_id,
            session_id=recorded.turn.scope.session_id,
            turn_seq=recorded.turn.turn_seq,
            has_embedding=recorded.turn.has_embedding,
        )

    async def save_semantic(
        self,
        *,
        text: str,
        label: str,
        user_id: str | None = None,
        source: MemorySource | str = MemorySource.AGENT,
        visibility: Visibility | str = Visibility.PRIVATE,
        metadata: Mapping[str, MetadataValue] | None = None,
        upsert: bool = True,
        agent_id: str | None = None,
        timeout: float | None = None,
    ) -> models.CreateSemanticResult:
        """Saves a fact.

        Args:
            text: The fact, at most 256 KiB.
            label: Its name, unique for the user.
            user_id: Whose it is.
            source: Who says so: `agent`, `user` or `import`.
            visibility: How far it can be read.
            metadata: Pairs of your own.
            upsert: Replace the fact of the same label; otherwise a taken label is an error.
            agent_id: The agent that writes.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: Nobody names a user.
            AlreadyExistsError: The label is taken, and `upsert` is off.
        """
        who = self._who(user_id=user_id, agent_id=agent_id)
        memory = models.NewMemory(
            kind=MemoryKind.SEMANTIC,
            key=label,
            content=text,
            scope=models.Scope(user_id=identity.require(who.user_id, "user_id", "save_semantic")),
            agent_id=who.agent_id or "",
            visibility=enums.VISIBILITY.word(visibility),
            source=enums.MEMORY_SOURCE.word(source),
            metadata=dict(metadata or {}),
            provenance=models.Provenance(session_id=who.session_id or ""),
        )
        await self._guard.check()
        saved = await self._write(memory, upsert, timeout)
        return models.CreateSemanticResult(
            id=saved.memory_id, label=saved.key, has_embedding=saved.has_embedding
        )

    async def search_semantic(
        self,
        query: str,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        top_k: int = 50,
        *,
        mode: SearchMode | str = SearchMode.SEMANTIC,
        timeout: float | None = None,
    ) -> list[MemoryChunk]:
        """Finds facts, best first.

        Args:
            query: What to look for, at most 8 KiB.
            user_id: Only that user's.
            visibility: Only that one; `org` ignores the user of the ambient context.
            top_k: How many, 1 to 200.
            mode: How to look.
            timeout: Seconds.
        """
        who = self._who_reads(visibility, user_id=user_id)
        await self._guard.check()
        search = facade.SourceSearch(ContextSource.SEMANTIC, facade.matching(who))
        return await self._search(query, search, visibility, top_k, mode, timeout)

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
            visibility: Only that one; `org` ignores the user of the ambient context.
            session_id: Only episodes of that session; taken from this call alone, for most episodes have none.
            domain: Only terms of that domain.
            tags: Only procedures that have all of these.
            similarity_threshold: Only procedures of at least that cosine similarity; 0.0: all.
            metadata_filter: Only procedures that meet it: see `ricordo.filters`.
            mode: How to look.
            timeout: Seconds for each source.

        Raises:
            MemoryClientError: No such source, or the filter is malformed.
        """
        who = self._who_reads(visibility, user_id=user_id, session_id=session_id, own_session_only=True)
        searches = facade.plan_searches(
            sources,
            who,
            domain=domain,
            tags=tags,
            similarity_threshold=similarity_threshold,
            metadata_filter=metadata_filter,
        )
        await self._guard.check()
        found = await gather(
            [partial(self._search, query, search, visibility, top_k, mode, timeout) for search in searches]
        )
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
        timeout: float | None = None,
    ) -> models.ContextResponse:
        """Builds one block of context for the next prompt, by semantic search.

        Args:
            query: What the context is for, at most 8 KiB.
            user_id: Only that user's.
            session_id: The session whose turns the source `stm` reads.
            visibility: Only memories of that one; `org` ignores the user of the ambient context.
            metadata_filter: A condition on every source: see `ricordo.filters`.
            enabled_sources: Where to look; None: episodic and semantic.
            thread_id: The older name of `session_id`.
            max_tokens: The gross budget, of which 500 are kept for formatting; None: 4,000.
            format_style: `openai` answers a list of messages; `claude` XML text; `jinja2` and None Markdown text.
            include_memories: Also answer the selected chunks.
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
            timeout: Seconds.

        Raises:
            MemoryIdentityError: `stm` is asked for and nobody names a session.
            MemoryClientError: An argument makes no sense.
            ServiceUnavailableError: Every source failed.
        """
        who = self._who_reads(
            visibility, user_id=user_id, session_id=facade.session_of(session_id, thread_id)
        )
        with_turns = any(spec.source is ContextSource.STM for spec in facade.check_specs(sources))
        if with_turns:
            identity.require(who.session_id, "session_id", "the source stm")
        style = facade.style_of(format_style)
        budget = facade.check_max_tokens(max_tokens)
        await self._guard.check()
        context = await self._client.context.build(
            query,
            sources=sources,
            scope=facade.matching(who, session=with_turns),
            visibility=visibility,
            max_tokens=budget,
            format_style=style,
            include_memories=include_memories,
            store=self._store,
            timeout=timeout,
        )
        return context_response(context, style=style, selected=include_memories)

    async def _write(self, memory: models.NewMemory, upsert: bool, timeout: float | None) -> models.Memory:
        if upsert:
            return (await self._client.memories.put(memory, store=self._store, timeout=timeout)).memory
        return await self._client.memories.create(memory, store=self._store, timeout=timeout)

    async def _search(
        self,
        query: str,
        search: facade.SourceSearch,
        visibility: Visibility | str | None,
        top_k: int,
        mode: SearchMode | str,
        timeout: float | None,
    ) -> list[MemoryChunk]:
        result = await self._client.memories.search(
            query,
            mode=mode,
            top_k=top_k,
            min_similarity=search.min_similarity,
            scope=search.scope,
            visibility=visibility,
            kinds=[search.source.value],
            filters=search.filters,
            store=self._store,
            timeout=timeout,
        )
        return [chunk_of_hit(hit) for hit in result.hits]
