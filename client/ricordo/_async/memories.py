"""Long-term memory: `client.memories`."""

from collections.abc import Collection, Iterable
from datetime import timedelta

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.memory_reads import AsyncMemoryReads
from ricordo._async.revisions import AsyncRevisions
from ricordo._convert import audit
from ricordo._convert import memory_requests as requests
from ricordo._convert.memories import decode_memory, decode_results
from ricordo.filters import FilterInput
from ricordo.models import MemoryKind, Visibility


class AsyncMemories(AsyncMemoryReads):
    """Writes, reads and searches memories.

    On every call, `store` is the store's id (None: `default`) and `timeout` is in seconds, retries included (None:
    the client's). A `request_id` (at most 128 characters, kept 24 hours) makes a repeat by the caller safe; without
    one, each call makes its own, which covers its retries. Failures are `MemoryAPIError`s.

    Attributes:
        revisions: What memories were before.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.revisions = AsyncRevisions(connection)

    async def create(
        self,
        memory: models.NewMemory,
        *,
        ttl: timedelta | None = None,
        revision_options: models.RevisionOptions | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Memory:
        """Writes a new memory.

        Args:
            memory: What to remember.
            ttl: When it ends, from now; wins over its `expire_time`.
            revision_options: How the change is kept as a revision; None: as the store says.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The key (KEY_TAKEN) or the chosen id (ID_TAKEN) is in use.
        """
        request = requests.create_request(
            memory, ttl=ttl, revision_options=revision_options, store=store, request_id=request_id
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.CreateMemory, request, timeout)
        return decode_memory(reply.memory)

    async def batch_create(
        self,
        memories: Iterable[models.NewMemory],
        *,
        atomic: bool = False,
        revision_options: models.RevisionOptions | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> tuple[models.MemoryResult, ...]:
        """Writes 1 to 500 memories.

        Args:
            memories: What to remember.
            atomic: All or nothing: the first failing item fails the call.
            revision_options: How the change is kept as a revision; None: as the store says.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Returns:
            One result for each memory, in order: the memory as stored, or the error.
        """
        request = requests.batch_create_request(
            memories,
            atomic=atomic,
            revision_options=revision_options,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(
            lambda stubs: stubs.memories.BatchCreateMemories, request, timeout
        )
        return decode_results(reply.results)

    async def update(
        self,
        memory_id: str,
        changes: models.MemoryChanges,
        *,
        ttl: timedelta | None = None,
        revision_options: models.RevisionOptions | None = None,
        expected_revision: int | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Memory:
        """Changes the fields that `changes` gives, and writes a revision.

        Args:
            memory_id: The memory.
            changes: The new values.
            ttl: When it ends, from now; wins over its `expire_time`.
            revision_options: How the change is kept as a revision; None: as the store says.
            expected_revision: Refuse when the memory is at another one.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such memory.
            RevisionMismatchError: It is not at the expected revision.
            MemoryClientError: `changes` gives nothing.
        """
        request = requests.update_request(
            memory_id,
            changes,
            ttl=ttl,
            revision_options=revision_options,
            expected_revision=expected_revision,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.UpdateMemory, request, timeout)
        return decode_memory(reply.memory)

    async def put(
        self,
        memory: models.NewMemory,
        *,
        update_mask: Collection[str] = (),
        append: bool = False,
        ttl: timedelta | None = None,
        revision_options: models.RevisionOptions | None = None,
        expected_revision: int | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.PutResult:
        """Creates a memory, or updates the caller's own one of the same key; atomic.

        Args:
            memory: What to remember, with a key.
            update_mask: The fields to change when it exists; none: all that can be changed.
            append: Add the content as new lines at the end, unless those whole lines are there already.
            ttl: When it ends, from now; wins over its `expire_time`. Without either, an existing end is kept, unless
                the store has a time to live for changes.
            revision_options: How the change is kept as a revision; None: as the store says.
            expected_revision: Refuse when the memory is at another one; 0: only create.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            RevisionMismatchError: It is not at the expected revision.
        """
        request = requests.put_request(
            memory,
            update_mask=update_mask,
            append=append,
            ttl=ttl,
            revision_options=revision_options,
            expected_revision=expected_revision,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.PutMemory, request, timeout)
        return models.PutResult(memory=decode_memory(reply.memory), created=reply.created)

    async def delete(
        self,
        memory_id: str,
        *,
        purge: bool = False,
        expected_revision: int | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Deletes a memory: reads leave it out at once, and it is swept after 30 days.

        Args:
            memory_id: The memory.
            purge: Remove the row, its revisions and its embeddings now.
            expected_revision: Refuse when the memory is at another one.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such memory.
            RevisionMismatchError: It is not at the expected revision.
        """
        request = requests.delete_request(
            memory_id, purge=purge, expected_revision=expected_revision, store=store, request_id=request_id
        )
        await self._connection.call(lambda stubs: stubs.memories.DeleteMemory, request, timeout)

    async def delete_matching(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        visibility: Visibility | str | None = None,
        kinds: Collection[MemoryKind | str] = (),
        custom_types: Collection[str] = (),
        filters: FilterInput | None = None,
        force: bool = False,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.DeletedMemories:
        """Deletes up to 500 memories that match, as `delete` does; without `force` it only counts them.

        Args:
            scope: Whose.
            visibility: Only those of this visibility.
            kinds: Only these kinds.
            custom_types: Only these custom types.
            filters: Further conditions: see `ricordo.filters`.
            force: Delete them.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Returns:
            How many matched, and how many were deleted: call it again while there are more.

        Raises:
            MemoryBadRequestError: Nothing says which.
        """
        request = requests.delete_matching_request(
            scope=scope,
            visibility=visibility,
            kinds=kinds,
            custom_types=custom_types,
            filters=filters,
            force=force,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.DeleteMemories, request, timeout)
        return models.DeletedMemories(matching=reply.matching_count, deleted=reply.deleted_count)

    async def move(
        self,
        memory_id: str,
        key: str,
        *,
        expected_revision: int | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Memory:
        """Gives a document another path; it keeps its id and its history.

        Args:
            memory_id: The document.
            key: The new path.
            expected_revision: Refuse when the memory is at another one.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such memory.
            AlreadyExistsError: There is a document at this path.
            RevisionMismatchError: It is not at the expected revision.
        """
        request = requests.move_request(
            memory_id, key, expected_revision=expected_revision, store=store, request_id=request_id
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.MoveMemory, request, timeout)
        return decode_memory(reply.memory)

    async def rollback(
        self,
        memory_id: str,
        target_revision: int,
        *,
        expected_revision: int | None = None,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Memory:
        """Makes a memory what it was at a revision, as a new revision; a deleted one comes back.

        When it ends stays as it is.

        Args:
            memory_id: The memory.
            target_revision: The revision to go back to.
            expected_revision: Refuse when the memory is at another revision.
            store: The store.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such memory or revision.
            RevisionMismatchError: It is at another revision than `expected_revision`.
            AlreadyExistsError: Another memory has its key by now.
        """
        request = requests.rollback_request(
            memory_id,
            target_revision,
            expected_revision=expected_revision,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.RollbackMemory, request, timeout)
        return decode_memory(reply.memory)

    async def purge(
        self,
        user_id: str,
        *,
        force: bool = False,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.ErasureReceipt:
        """Removes everything of an end user in every store, sessions and turns too; without `force` it only counts.

        For a service with the role admin. Calls of the user that run at the same time may leave something: stop them
        first, or repeat.

        Args:
            user_id: Whose.
            force: Remove it.
            request_id: Makes a repeat safe.
            timeout: Seconds.
        """
        request = audit.purge_memories_request(user_id, force=force, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.memories.PurgeMemories, request, timeout)
        return audit.decode_receipt(reply.receipt)
