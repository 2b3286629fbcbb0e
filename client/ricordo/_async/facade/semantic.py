"""Facts: semantic memory."""

from collections.abc import Iterable, Mapping
from typing import Any

from ricordo import models
from ricordo._async.facade.operations import AsyncOperations
from ricordo._convert import batches, enums, facade
from ricordo._convert.entries import semantic_entry
from ricordo.filters import MEMORY_FIELDS, FilterInput, parse
from ricordo.models import (
    ContextSource,
    MemoryChunk,
    MemoryKind,
    MemorySource,
    MetadataValue,
    SearchMode,
    Visibility,
)


class AsyncSemanticMemory(AsyncOperations):
    """Labelled facts: what is known."""

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
        memory = self._draft(
            "save_semantic",
            MemoryKind.SEMANTIC,
            user_id=user_id,
            agent_id=agent_id,
            visibility=visibility,
            metadata=metadata,
            key=facade.require_text(label, "label"),
            content=text,
            source=enums.MEMORY_SOURCE.word(source),
        )
        saved = await self._write(memory, timeout, upsert=upsert)
        return models.CreateSemanticResult(
            id=saved.memory_id, label=saved.key, has_embedding=saved.has_embedding
        )

    async def save_semantic_batch(
        self,
        facts: Iterable[models.SemanticFact | Mapping[str, Any]],
        *,
        user_id: str | None = None,
        source: MemorySource | str = MemorySource.AGENT,
        visibility: Visibility | str = Visibility.PRIVATE,
        agent_id: str | None = None,
        timeout: float | None = None,
    ) -> models.BulkCreateSemanticResult:
        """Saves any number of new facts; those whose label is taken are skipped and stay as they are.

        Args:
            facts: `SemanticFact`s, or dicts with `text`, `label` and perhaps `metadata`.
            user_id: Whose they are.
            source: Who says so: `agent`, `user` or `import`.
            visibility: How far they can be read.
            agent_id: The agent that writes.
            timeout: Seconds for each 500 of them.

        Returns:
            What was created, skipped and refused, by label; a refused fact does not hold up the others.

        Raises:
            MemoryIdentityError: Nobody names a user.
            MemoryClientError: A fact lacks its text or label.
        """
        drafts = [
            self._draft(
                "save_semantic_batch",
                MemoryKind.SEMANTIC,
                user_id=user_id,
                agent_id=agent_id,
                visibility=visibility,
                metadata=fact.metadata,
                key=fact.label,
                content=fact.text,
                source=enums.MEMORY_SOURCE.word(source),
            )
            for fact in batches.facts_of(facts)
        ]
        await self._guard.check()
        results: list[models.MemoryResult] = []
        for some in batches.chunks(drafts):
            results += await self._client.memories.batch_create(some, store=self._store, timeout=timeout)
        return batches.batch_result(drafts, results)

    async def search_semantic(
        self,
        query: str,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        top_k: int = 50,
        *,
        metadata_filter: FilterInput | None = None,
        mode: SearchMode | str = SearchMode.SEMANTIC,
        timeout: float | None = None,
    ) -> list[MemoryChunk]:
        """Finds facts, best first.

        Args:
            query: What to look for, at most 8 KiB.
            user_id: Only that user's.
            visibility: Only that one; `org` ignores the user of the ambient context; `readable`: the user's own and
                all that is shared.
            top_k: How many, 1 to 200.
            metadata_filter: Only those that meet it: see `ricordo.filters`.
            mode: How to look.
            timeout: Seconds.
        """
        reading = self._reading(visibility, user_id=user_id)
        condition = parse(metadata_filter, MEMORY_FIELDS)
        search = facade.SourceSearch(ContextSource.SEMANTIC, reading.scope(), condition)
        return await self._find(query, search, reading.visibility, top_k=top_k, mode=mode, timeout=timeout)

    async def get_semantic(
        self,
        label: str,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        *,
        timeout: float | None = None,
    ) -> models.SemanticEntry | None:
        """Reads the fact of that label: of several, the user's own first, then the newest.

        Args:
            label: Its name.
            user_id: Only that user's.
            visibility: Only that one; `readable`: the user's own, else a shared one.
            timeout: Seconds.

        Returns:
            The fact; None: there is none.
        """
        reading = self._reading(visibility, user_id=user_id)
        found = await self._get(MemoryKind.SEMANTIC, facade.require_text(label, "label"), reading, timeout)
        return semantic_entry(found) if found else None

    async def update_semantic(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        source: MemorySource | str | None = None,
        visibility: Visibility | str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        timeout: float | None = None,
    ) -> models.SemanticEntry:
        """Changes what is given of one of the user's facts, and writes a revision.

        Args:
            memory_id: The fact's id.
            text: The fact.
            source: Who says so.
            visibility: How far it can be read.
            metadata: Pairs of your own, instead of those it had.
            agent_id: The agent it is from.
            user_id: Whose it is.
            timeout: Seconds for each request.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such fact.
        """
        changes = facade.changes_of(
            content=text, source=source, visibility=visibility, metadata=metadata, agent_id=agent_id
        )
        memory = await self._own("update_semantic", MemoryKind.SEMANTIC, memory_id, user_id, timeout)
        return semantic_entry(await self._change(memory, changes, timeout))

    async def delete_semantic(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        purge: bool = False,
        timeout: float | None = None,
    ) -> models.DeleteResult:
        """Deletes one of the user's facts: reads leave it out at once, and it is swept after 30 days.

        Args:
            memory_id: The fact's id.
            user_id: Whose it is.
            purge: Remove it and its revisions now.
            timeout: Seconds for each request.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such fact.
        """
        return await self._delete(
            "delete_semantic", MemoryKind.SEMANTIC, memory_id, user_id, timeout, purge=purge
        )
