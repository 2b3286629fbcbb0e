"""Entries of memory stores, as handles."""

from dataclasses import dataclass

from pydantic import PrivateAttr

from ricordo import models
from ricordo._async.memories import AsyncMemories
from ricordo._convert import store_entries as entries
from ricordo.models import StoreEntry, View


class AsyncStoredEntry(StoreEntry):
    """An entry that can be changed and deleted."""

    _memories: AsyncMemories = PrivateAttr()
    _store_id: str = PrivateAttr()

    @classmethod
    def of(
        cls, memory: models.Memory, memories: AsyncMemories, store_id: str, view: View = View.FULL
    ) -> "AsyncStoredEntry":
        """The entry that a memory is."""
        entry = cls.model_validate(entries.entry_fields(memory, store_id, view))
        entry._memories, entry._store_id = memories, store_id
        return entry

    async def update(
        self,
        *,
        content: str | None = None,
        description: str | None = None,
        pinned: bool | None = None,
        expected_revision: int | None = None,
        timeout: float | None = None,
    ) -> "AsyncStoredEntry":
        """Changes content, description, or whether pipelines leave the entry alone; "" clears a description.

        Args:
            content: The new content.
            description: The new description.
            pinned: Whether pipelines leave it as it is.
            expected_revision: Refuse when the entry is at another one.
            timeout: Seconds.

        Raises:
            MemoryClientError: Nothing is given.
            NotFoundError: It is not there any more.
            RevisionMismatchError: It is not at the expected revision.
        """
        memory = await self._memories.update(
            self.entry_id,
            entries.changes_of(content, description, pinned),
            expected_revision=expected_revision,
            store=self._store_id,
            timeout=timeout,
        )
        return self.of(memory, self._memories, self._store_id)

    async def edit(self, old: str, new: str, *, timeout: float | None = None) -> "AsyncStoredEntry":
        """Replaces a text that occurs once in the content as it was read.

        Raises:
            MemoryClientError: `old` is not in it, or more than once: give more of its surroundings.
            RevisionMismatchError: The entry has changed since it was read: read it again.
        """
        content = entries.replaced_once(self.content, old, new)
        return await self.update(content=content, expected_revision=self.revision, timeout=timeout)

    async def move(
        self, path: str, *, expected_revision: int | None = None, timeout: float | None = None
    ) -> "AsyncStoredEntry":
        """Gives the entry another path, in the same session; it keeps its id and its history.

        Raises:
            AlreadyExistsError: The actor has an entry at this path.
            NotFoundError: It is not there any more.
            RevisionMismatchError: It is not at the expected revision.
        """
        memory = await self._memories.move(
            self.entry_id, path, expected_revision=expected_revision, store=self._store_id, timeout=timeout
        )
        return self.of(memory, self._memories, self._store_id)

    async def delete(self, *, expected_revision: int | None = None, timeout: float | None = None) -> None:
        """Deletes the entry.

        Raises:
            NotFoundError: It is not there any more.
            RevisionMismatchError: It is not at the expected revision.
        """
        await self._memories.delete(
            self.entry_id, expected_revision=expected_revision, store=self._store_id, timeout=timeout
        )


@dataclass(frozen=True)
class AsyncEntryHit:
    """An entry that a search found; scores of one answer compare, larger is better."""

    memory: AsyncStoredEntry
    score: float
