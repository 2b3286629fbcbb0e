"""What the operations of every kind share: write, find, read by key, change, delete."""

import builtins
from collections.abc import Mapping
from typing import Any

from ricordo import identity, models
from ricordo._async.handle import AsyncHandle
from ricordo._convert import enums, facade
from ricordo._convert.chunks import chunk_of_hit
from ricordo._convert.readings import Reading
from ricordo.errors import Failure, NotFoundError
from ricordo.filters import FilterInput, field
from ricordo.models import (
    DeleteResult,
    EpisodicDetails,
    Memory,
    MemoryChanges,
    MemoryChunk,
    MemoryKind,
    NewMemory,
    ProceduralDetails,
    SearchMode,
    Visibility,
)

NO_DETAILS: Mapping[MemoryKind, models.Details] = {
    MemoryKind.EPISODIC: EpisodicDetails(),
    MemoryKind.PROCEDURAL: ProceduralDetails(),
}


class AsyncOperations(AsyncHandle):
    """The shared steps. Each checks the project before its first request."""

    def _draft(
        self,
        operation: str,
        kind: MemoryKind,
        *,
        user_id: str | None,
        agent_id: str | None,
        visibility: Visibility | str,
        metadata: Mapping[str, Any] | None,
        user_required: bool = True,
        **fields: Any,
    ) -> NewMemory:
        """A memory to write, for whom it is; the session it was learned in is provenance.

        Raises:
            MemoryIdentityError: Nobody names a user.
        """
        who = self._who(user_id=user_id, agent_id=agent_id)
        owner = identity.require(who.user_id, "user_id", operation) if user_required else who.user_id
        defaults: dict[str, Any] = {
            "scope": models.Scope(user_id=owner or ""),
            "provenance": models.Provenance(session_id=who.session_id or ""),
        }
        return NewMemory(
            kind=kind,
            agent_id=who.agent_id or "",
            visibility=enums.VISIBILITY.word(visibility),
            metadata=facade.pairs(metadata, "metadata") or {},
            **(defaults | fields),
        )

    async def _write(self, memory: NewMemory, timeout: float | None, *, upsert: bool) -> Memory:
        await self._guard.check()
        if upsert:
            return (await self._client.memories.put(memory, store=self._store, timeout=timeout)).memory
        return await self._client.memories.create(memory, store=self._store, timeout=timeout)

    async def _find(
        self,
        query: str,
        search: facade.SourceSearch,
        visibility: Visibility | None,
        *,
        top_k: int,
        mode: SearchMode | str,
        timeout: float | None,
    ) -> list[MemoryChunk]:
        await self._guard.check()
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

    async def _get(
        self,
        kind: MemoryKind,
        key: str | models.TaxonomicDetails,
        reading: Reading,
        timeout: float | None,
        *,
        include_deleted: bool = False,
    ) -> Memory | None:
        """The user's own memory of that key, else the newest that the reading admits; None: there is none."""
        if reading.visibility is not None:
            asked = field("key").eq(facade.key_of(key))
            found = await self._list(
                kind, reading, timeout, limit=1, filters=asked, include_deleted=include_deleted
            )
            return found[0] if found else None
        await self._guard.check()
        try:
            return await self._client.memories.get_by_key(
                key,
                kind=kind,
                scope=reading.scope(),
                include_deleted=include_deleted,
                store=self._store,
                timeout=timeout,
            )
        except NotFoundError as error:
            if error.reason != "MEMORY_NOT_FOUND":
                raise
            return None

    async def _list(
        self,
        kind: MemoryKind,
        reading: Reading,
        timeout: float | None,
        *,
        limit: int,
        filters: FilterInput | None = None,
        session: bool = False,
        include_deleted: bool = False,
    ) -> builtins.list[Memory]:
        await self._guard.check()
        pager = self._client.memories.list(
            scope=reading.scope(session=session),
            visibility=reading.visibility,
            kinds=[kind],
            filters=filters,
            include_deleted=include_deleted,
            page_size=min(limit, 1000),
            store=self._store,
            timeout=timeout,
        )
        found: list[Memory] = []
        async for page in pager.pages():
            found += page.items
            if len(found) >= limit:
                break
        return found[:limit]

    async def _own(
        self, operation: str, kind: MemoryKind, memory_id: str, user_id: str | None, timeout: float | None
    ) -> Memory:
        """The memory to change, when it is of that kind and belongs to the user of the call.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: It does not, or there is none.
        """
        facade.require_text(memory_id, "memory_id")
        owner = identity.require(self._who(user_id=user_id).user_id, "user_id", operation)
        await self._guard.check()
        memory = await self._client.memories.get(memory_id, store=self._store, timeout=timeout)
        if memory.kind is not kind or memory.scope.user_id != owner:
            raise not_found(f"the user {owner} has no {kind} memory {memory_id}")
        return memory

    async def _change(
        self,
        memory: Memory,
        changes: Mapping[str, object],
        timeout: float | None,
        **details: object,
    ) -> Memory:
        """Changes what is not None. Details go whole, so they are only written over those that were read."""
        given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
        new_details = {name: value for name, value in details.items() if value is not None}
        if new_details:
            given["details"] = (memory.details or NO_DETAILS[memory.kind]).model_copy(update=new_details)
        return await self._client.memories.update(
            memory.memory_id,
            MemoryChanges(**given),
            expected_revision=memory.revision if new_details else None,
            store=self._store,
            timeout=timeout,
        )

    async def _delete(
        self,
        operation: str,
        kind: MemoryKind,
        memory_id: str,
        user_id: str | None,
        timeout: float | None,
        *,
        purge: bool,
    ) -> DeleteResult:
        memory = await self._own(operation, kind, memory_id, user_id, timeout)
        await self._client.memories.delete(memory.memory_id, purge=purge, store=self._store, timeout=timeout)
        return DeleteResult(deleted_count=1)


def not_found(message: str) -> NotFoundError:
    """The error of the server for what is not there, or may not be seen."""
    return NotFoundError(Failure(code="NOT_FOUND", message=message, reason="MEMORY_NOT_FOUND"))
