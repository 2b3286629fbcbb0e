"""Memory stores, each a container of entries that agents keep under paths: `client.memory_stores`."""

import builtins
from collections.abc import Collection
from dataclasses import dataclass, field

from ricordo import models
from ricordo._async.memories import AsyncMemories
from ricordo._async.pager import AsyncPager
from ricordo._async.store_entries import AsyncEntryHit, AsyncStoredEntry
from ricordo._async.store_handles import AsyncStoreHandle, AsyncStoreHandles
from ricordo._async.stores import AsyncStores
from ricordo._convert import store_entries as entries
from ricordo._convert.store_entries import DOCUMENTS
from ricordo.models import EntrySource, MemoryKind, View


class AsyncMemoryStores(AsyncStoreHandles["AsyncMemoryStore"]):
    """Creates, finds, changes and deletes memory stores.

    A store is named by its id or as "memory-stores/<id>". Failures are `MemoryAPIError`s, whose `code` is a name such
    as "ALREADY_EXISTS". `timeout` is in seconds, retries included (None: the client's).
    """

    def __init__(self, stores: AsyncStores, memories: AsyncMemories) -> None:
        super().__init__(stores)
        self._memories = memories

    def _handle(self, store: models.Store) -> "AsyncMemoryStore":
        return AsyncMemoryStore(self._stores, store, self._memories)

    async def update(
        self, store_id: str, *, description: str | None = None, timeout: float | None = None
    ) -> "AsyncMemoryStore":
        """Changes the description; "" clears it.

        Raises:
            MemoryClientError: Nothing is given.
            NotFoundError: There is no such store.
        """
        store = await self._stores.update(
            entries.store_id_of(store_id), description=description, timeout=timeout
        )
        return self._handle(store)

    async def delete(self, store_id: str, *, timeout: float | None = None) -> None:
        """Deletes a store with everything in it.

        Raises:
            NotFoundError: There is no such store.
        """
        await self._stores.delete(entries.store_id_of(store_id), force=True, timeout=timeout)

    async def grant_permission(
        self, store_id: str, principal: str, permission: str = "WRITE", *, timeout: float | None = None
    ) -> None:
        """Lets a service account use a store; for its creator and the project's admins.

        Args:
            store_id: The store.
            principal: The id of a service account.
            permission: "READ" or "WRITE".
            timeout: Seconds.

        Raises:
            MemoryAuthError: The caller may not grant.
        """
        await self._stores.grant(entries.store_id_of(store_id), principal, access=permission, timeout=timeout)


@dataclass(frozen=True)
class AsyncMemoryStore(AsyncStoreHandle):
    """A memory store. Every call names the actor whose entries it is about; it never crosses to another's."""

    _memories: AsyncMemories = field(repr=False)

    @property
    def id(self) -> str:
        """The store's id."""
        return self.record.store_id

    @property
    def name(self) -> str:
        """ "memory-stores/<id>"."""
        return f"{entries.STORES}{self.id}"

    async def add(
        self,
        *,
        actor_id: str,
        path: str,
        content: str,
        session_id: str | None = None,
        description: str | None = None,
        source_type: EntrySource | str | None = None,
        entry_id: str = "",
        timeout: float | None = None,
    ) -> AsyncStoredEntry:
        """Writes a new entry.

        Args:
            actor_id: Whose it is.
            path: Absolute, case-sensitive, without empty, "." and ".." segments; at most 512 bytes.
            content: At most 256 KiB.
            session_id: The session it belongs to: the same path with and without one are two entries.
            description: What it holds, at most 8 KiB; searched too.
            source_type: "agent", which None is too; entries of "dreamer" are written by pipelines alone.
            entry_id: An id of one's own, at most 63 of `[a-z0-9-]`.
            timeout: Seconds.

        Raises:
            MemoryClientError: No actor is given, or another source.
            AlreadyExistsError: The actor has an entry at this path, in this session.
        """
        entries.check_source(source_type)
        new = entries.new_entry(entries.scope_of(actor_id, session_id), path, content, description, entry_id)
        return self._entry(await self._memories.create(new, store=self.id, timeout=timeout))

    async def put(
        self,
        *,
        actor_id: str,
        path: str,
        content: str,
        session_id: str | None = None,
        description: str | None = None,
        append: bool = False,
        timeout: float | None = None,
    ) -> AsyncStoredEntry:
        """Writes an entry, over the one that is there if any; atomic however many write at once.

        Args:
            actor_id: Whose it is.
            path: As in `add`.
            content: The new content, or the lines to add.
            session_id: The session it belongs to.
            description: None keeps the one that is there.
            append: Add the content as new lines at the end, unless those whole lines are there already.
            timeout: Seconds.
        """
        new = entries.new_entry(entries.scope_of(actor_id, session_id), path, content, description)
        result = await self._memories.put(
            new, update_mask=entries.put_mask(description), append=append, store=self.id, timeout=timeout
        )
        return self._entry(result.memory)

    async def get(
        self,
        entry_id: str,
        *,
        read_mask: Collection[str] | str | None = None,
        timeout: float | None = None,
    ) -> AsyncStoredEntry:
        """Reads an entry by its id or name.

        Args:
            entry_id: The id, or "memory-stores/<store>/entries/<id>".
            read_mask: The fields to read; without `content` among them it is left out. None: all.
            timeout: Seconds.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        given = entries.entry_id_of(entry_id, self.id)
        memory = await self._memories.get(given, store=self.id, timeout=timeout)
        return self._entry(memory, entries.view_of(read_mask, View.FULL))

    def list(
        self,
        *,
        actor_id: str,
        path_prefix: str | None = None,
        path: str | None = None,
        session_id: str | None = None,
        view: View | str = View.FULL,
        read_mask: Collection[str] | str | None = None,
        page_size: int | None = None,
        page_token: str = "",
        kinds: Collection[MemoryKind | str] = DOCUMENTS,
        timeout: float | None = None,
    ) -> AsyncPager[AsyncStoredEntry]:
        """Lists entries by path; nothing is fetched until iterated.

        Args:
            actor_id: Whose.
            path_prefix: Only those whose path begins so.
            path: Only those at exactly this path, in every session and without one; `session_id` is ignored then.
            session_id: Only those of this session; entries without a session are left out.
            view: `basic` leaves out content.
            read_mask: As in `get`; wins over `view`.
            page_size: Entries fetched at a time, 1 to 100; None: 10.
            page_token: Where to continue.
            kinds: Which kinds of memories, also those that the facade `Memory` or a memory bank wrote; none: all.
                Their path is the key, which may be empty.
            timeout: Seconds for each page.

        Raises:
            MemoryClientError: `path` and `path_prefix` are both given or can be none, `read_mask` names no field, or
                `page_size` is out of range.
        """
        wanted = entries.view_of(read_mask, view)
        memories = self._memories.list(
            scope=entries.matching(actor_id, None if path is not None else session_id),
            kinds=kinds,
            filters=entries.path_filter(path, path_prefix, kinds),
            order_by="key",
            view=wanted,
            page_size=entries.page_size_of(page_size),
            page_token=page_token,
            store=self.id,
            timeout=timeout,
        )
        return memories.mapped(lambda memory: self._entry(memory, wanted))

    async def search(
        self,
        *,
        actor_id: str,
        query: str,
        path_prefix: str | None = None,
        session_id: str | None = None,
        limit: int | None = None,
        page_size: int | None = None,
        read_mask: Collection[str] | str | None = None,
        kinds: Collection[MemoryKind | str] = DOCUMENTS,
        timeout: float | None = None,
    ) -> builtins.list[AsyncEntryHit]:
        """Finds entries by words and by meaning, in content and description; best first.

        Args:
            actor_id: Whose.
            query: At most 8 KiB.
            path_prefix: Only those whose path begins so.
            session_id: Only those of this session; entries without a session are left out.
            limit: How many, 1 to 100; None: 100.
            page_size: Another name of `limit`.
            read_mask: As in `get`.
            kinds: As in `list`.
            timeout: Seconds.
        """
        view = entries.view_of(read_mask, View.FULL)
        found = await self._memories.search(
            query,
            top_k=entries.search_limit(limit, page_size),
            scope=entries.matching(actor_id, session_id),
            kinds=kinds,
            filters=entries.path_filter(None, path_prefix, kinds),
            store=self.id,
            timeout=timeout,
        )
        return [AsyncEntryHit(await self._whole(hit.memory, view), hit.score) for hit in found.hits]

    async def _whole(self, memory: models.Memory, view: View) -> AsyncStoredEntry:
        """With the content that an answer of many large ones has left out."""
        if memory.content_omitted and view is View.FULL:
            memory = await self._memories.get(memory.memory_id, store=self.id)
        return self._entry(memory, view)

    async def delete_prefix(
        self,
        prefix: str,
        *,
        actor_id: str,
        session_id: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> int:
        """Deletes every entry of an actor whose path begins with a prefix.

        Args:
            prefix: How their paths begin: "/notes/" takes what is in that folder.
            actor_id: Whose.
            session_id: Only those of this session; entries without a session are left out.
            dry_run: Only count them.
            timeout: Seconds for each 500.

        Returns:
            How many were, or would be, deleted.

        Raises:
            MemoryClientError: No path begins so; "/" takes all.
        """
        matching = entries.matching(actor_id, session_id)
        condition = entries.path_filter(None, prefix or "")
        deleted = 0
        while True:
            step = await self._memories.delete_matching(
                scope=matching,
                kinds=DOCUMENTS,
                filters=condition,
                force=not dry_run,
                store=self.id,
                timeout=timeout,
            )
            deleted += step.deleted
            if dry_run or step.deleted == 0 or step.deleted == step.matching:
                return step.matching if dry_run else deleted

    def _entry(self, memory: models.Memory, view: View = View.FULL) -> AsyncStoredEntry:
        return AsyncStoredEntry.of(memory, self._memories, self.id, view)
