"""Memories of the project's own types."""

from collections.abc import Mapping

from ricordo import models
from ricordo._async.facade.operations import AsyncOperations, not_found
from ricordo._convert import facade
from ricordo._convert.entries import custom_entry, retrieved_custom
from ricordo._convert.tags import Tags, check_type, flatten_tags, nest_tags, with_tags
from ricordo.filters import MEMORY_FIELDS, FilterInput, parse
from ricordo.models import CustomDetails, MemoryKind, MetadataValue, SearchMode, Visibility


class AsyncCustomMemory(AsyncOperations):
    """Records that the other kinds do not fit."""

    async def save(
        self,
        memory_type: str,
        content: str,
        *,
        tags: Tags | None = None,
        contextual_metadata: Mapping[str, MetadataValue] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        visibility: Visibility | str = Visibility.PRIVATE,
        timeout: float | None = None,
    ) -> models.CustomMemorySaveResult:
        """Saves a memory of a type of your own.

        Args:
            memory_type: The type, `^[a-z][a-z0-9_]{0,63}$`.
            content: What to remember, at most 256 KiB.
            tags: What to find it by: text, numbers and bools, with dotted names or nested one level deep. They are
                kept as metadata.
            contextual_metadata: Kept and returned as it is, never filterable.
            user_id: Whose it is; without a user, only service credentials can read it.
            agent_id: The agent that writes.
            visibility: How far it can be read.
            timeout: Seconds.

        Raises:
            MemoryClientError: The type or a tag is none.
        """
        flat = flatten_tags(tags)
        memory = self._draft(
            "save",
            MemoryKind.CUSTOM,
            user_id=user_id,
            agent_id=agent_id,
            visibility=visibility,
            metadata=nest_tags(flat),
            user_required=False,
            custom_type=check_type(memory_type),
            content=content,
            details=CustomDetails(
                contextual_metadata=facade.pairs(contextual_metadata, "contextual_metadata") or {}
            ),
        )
        saved = await self._write(memory, timeout, upsert=False)
        return models.CustomMemorySaveResult(
            id=saved.memory_id, type=saved.custom_type, tags=flat, has_embedding=saved.has_embedding
        )

    async def retrieve(
        self,
        memory_type: str,
        query: str,
        *,
        tags: Tags | None = None,
        top_k: int = 10,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        metadata_filter: FilterInput | None = None,
        mode: SearchMode | str = SearchMode.SEMANTIC,
        timeout: float | None = None,
    ) -> models.CustomMemoryRetrieveResult:
        """Finds memories of a type of your own, best first.

        Args:
            memory_type: The type.
            query: What to look for, at most 8 KiB.
            tags: Only those that have all of these, with these values.
            top_k: How many, 1 to 200.
            user_id: Only that user's.
            visibility: Only that one; `org` ignores the user of the ambient context; `readable`: the user's own and
                all that is shared.
            metadata_filter: Only those that meet it; a tag is `metadata.<tag>`: see `ricordo.filters`.
            mode: How to look.
            timeout: Seconds.

        Raises:
            MemoryClientError: The type or a tag is none, or the filter is malformed.
        """
        wanted = facade.join(parse(metadata_filter, MEMORY_FIELDS), with_tags(flatten_tags(tags)))
        reading = self._reading(visibility, user_id=user_id)
        asked = check_type(memory_type)
        await self._guard.check()
        found = await self._client.memories.search(
            query,
            mode=mode,
            top_k=top_k,
            scope=reading.scope(),
            visibility=reading.visibility,
            kinds=[MemoryKind.CUSTOM],
            custom_types=[asked],
            filters=wanted,
            store=self._store,
            timeout=timeout,
        )
        results = [retrieved_custom(hit.memory) for hit in found.hits]
        return models.CustomMemoryRetrieveResult(results=results, count=len(results))

    async def update(
        self,
        memory_type: str,
        memory_id: str,
        *,
        content: str | None = None,
        tags: Tags | None = None,
        contextual_metadata: Mapping[str, MetadataValue] | None = None,
        visibility: Visibility | str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        timeout: float | None = None,
    ) -> models.CustomEntry:
        """Changes what is given of one of the user's memories of that type, and writes a revision.

        The arguments are those of `save`; `tags` and `contextual_metadata` replace those it had.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such memory of that type.
        """
        contextual = facade.pairs(contextual_metadata, "contextual_metadata")
        changes = facade.changes_of(
            content=content,
            metadata=None if tags is None else nest_tags(flatten_tags(tags)),
            visibility=visibility,
            agent_id=agent_id,
            details=None if contextual is None else CustomDetails(contextual_metadata=contextual),
        )
        memory = await self._own_custom("update", memory_type, memory_id, user_id, timeout)
        return custom_entry(await self._change(memory, changes, timeout))

    async def delete(
        self,
        memory_type: str,
        memory_id: str,
        *,
        user_id: str | None = None,
        purge: bool = False,
        timeout: float | None = None,
    ) -> models.DeleteResult:
        """Deletes one of the user's memories of that type: as `delete_semantic`.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such memory of that type.
        """
        memory = await self._own_custom("delete", memory_type, memory_id, user_id, timeout)
        await self._client.memories.delete(memory.memory_id, purge=purge, store=self._store, timeout=timeout)
        return models.DeleteResult(deleted_count=1)

    async def _own_custom(
        self, operation: str, memory_type: str, memory_id: str, user_id: str | None, timeout: float | None
    ) -> models.Memory:
        asked = check_type(memory_type)
        memory = await self._own(operation, MemoryKind.CUSTOM, memory_id, user_id, timeout)
        if memory.custom_type != asked:
            raise not_found(f"{memory_id} is of the type {memory.custom_type}, not {asked}")
        return memory
