"""Long-term memory: `client.memories`."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._async.revisions import AsyncRevisions
from ricordo._convert import audit
from ricordo._convert import memory_requests as requests
from ricordo._convert.memories import decode_domain, decode_memory, decode_results
from ricordo._convert.paging import at_page
from ricordo._convert.profiles import decode_profile, retrieve_profiles_request
from ricordo._convert.searches import decode_memory_hits, encode_options
from ricordo.filters import FilterInput
from ricordo.models import MemoryKind, SearchMode, View, Visibility


class AsyncMemories:
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

    async def get(
        self,
        memory_id: str,
        *,
        include_deleted: bool = False,
        store: str | None = None,
        timeout: float | None = None,
    ) -> models.Memory:
        """Reads one memory by id.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.get_request(memory_id, include_deleted=include_deleted, store=store)
        reply = await self._connection.call(lambda stubs: stubs.memories.GetMemory, request, timeout)
        return decode_memory(reply.memory)

    async def get_by_key(
        self,
        key: str | models.TaxonomicDetails,
        *,
        kind: MemoryKind | str,
        custom_type: str = "",
        scope: models.ScopeFilter | None = None,
        include_deleted: bool = False,
        store: str | None = None,
        timeout: float | None = None,
    ) -> models.Memory:
        """Reads one memory by its natural key: the caller's own first, then the newest it may see.

        Args:
            key: Label, name or path; for a taxonomic memory its domain and term.
            kind: Its kind.
            custom_type: Its type, with the kind `custom`.
            scope: Whose; None: anybody's.
            include_deleted: Also when it is deleted.
            store: The store.
            timeout: Seconds.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        request = requests.get_by_key_request(
            key,
            kind=kind,
            custom_type=custom_type,
            scope=scope,
            include_deleted=include_deleted,
            store=store,
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.GetMemory, request, timeout)
        return decode_memory(reply.memory)

    def list(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        visibility: Visibility | str | None = None,
        kinds: Collection[MemoryKind | str] = (),
        custom_types: Collection[str] = (),
        filters: FilterInput | None = None,
        include_deleted: bool = False,
        order_by: str = "",
        view: View | str = View.FULL,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.Memory]:
        """Lists memories, newest first unless `order_by` says otherwise; nothing is fetched until iterated.

        Args:
            scope: Whose; None: every row that the credential may read.
            visibility: Only that one.
            kinds: Only these; none: all.
            custom_types: Only these; none: all.
            filters: Further conditions: see `ricordo.filters`.
            include_deleted: Also deleted ones, after the live ones.
            order_by: For example "update_time desc, key": of create_time, update_time, event_time, expire_time, key
                and title at most 4.
            view: `basic` leaves out content.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue: `next_page_token` of a page of the same list.
            store: The store.
            timeout: Seconds for each page.

        Raises:
            MemoryClientError: The filter or the order is malformed.
        """
        request = requests.list_request(
            scope=scope,
            visibility=visibility,
            kinds=kinds,
            custom_types=custom_types,
            filters=filters,
            include_deleted=include_deleted,
            order_by=order_by,
            view=view,
            page_size=page_size,
            store=store,
        )

        async def fetch(token: str) -> models.Page[models.Memory]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.memories.ListMemories, asked, timeout)
            return models.Page(tuple(map(decode_memory, reply.memories)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    def list_domains(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        visibility: Visibility | str | None = None,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.Domain]:
        """Lists the domains of the taxonomic memories, by code point; nothing is fetched until iterated.

        Args:
            scope: Whose terms; None: every one that the credential may read.
            visibility: Only that one.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue: `next_page_token` of a page of the same list.
            store: The store.
            timeout: Seconds for each page.
        """
        request = requests.list_domains_request(
            scope=scope, visibility=visibility, page_size=page_size, store=store
        )

        async def fetch(token: str) -> models.Page[models.Domain]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.memories.ListDomains, asked, timeout)
            return models.Page(tuple(map(decode_domain, reply.domains)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def retrieve_profiles(
        self, scope: models.Scope, *, store: str | None = None, timeout: float | None = None
    ) -> tuple[models.Profile, ...]:
        """Reads the profiles of an exact scope, one for each schema that is for it, without any search.

        Args:
            scope: Whose.
            store: The store.
            timeout: Seconds.
        """
        request = retrieve_profiles_request(scope, store=store)
        reply = await self._connection.call(lambda stubs: stubs.memories.RetrieveProfiles, request, timeout)
        return tuple(map(decode_profile, reply.profiles))

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

    async def search(
        self,
        query: str = "",
        *,
        query_embedding: Sequence[float] = (),
        mode: SearchMode | str = SearchMode.HYBRID,
        fusion: models.FusionMethod | str | None = None,
        semantic_weight: float | None = None,
        top_k: int | None = None,
        min_similarity: float | None = None,
        scope: models.ScopeFilter | None = None,
        visibility: Visibility | str | None = None,
        kinds: Collection[MemoryKind | str] = (),
        custom_types: Collection[str] = (),
        filters: FilterInput | None = None,
        explain: bool = False,
        include_embedding: bool = False,
        store: str | None = None,
        timeout: float | None = None,
    ) -> models.SearchResult[models.MemoryHit]:
        """Finds memories, best first; ties by recency, then id.

        Args:
            query: The words, at most 8 KiB. Either these or an embedding is required.
            query_embedding: The query's own vector, of the model's dimension, instead of the server's.
            mode: How to look.
            fusion: How a hybrid search fuses its legs; None: `convex`.
            semantic_weight: The weight of the semantic leg, 0 to 1; None: the server's measured default.
            top_k: How many, 1 to 200; None: 10.
            min_similarity: Leave out rows below this cosine similarity, -1 to 1; in a hybrid search rows that words
                alone find stay.
            scope: Whose; None: every row that the credential may read.
            visibility: Only that one.
            kinds: Only these; none: all.
            custom_types: Only these; none: all.
            filters: Further conditions: see `ricordo.filters`.
            explain: Tell each hit's rank and score in each leg.
            include_embedding: Return each hit's vector.
            store: The store.
            timeout: Seconds.

        Raises:
            MemoryClientError: The filter is malformed.
            ServiceUnavailableError: The embedding model is down, and `mode` is `semantic`.
        """
        options = encode_options(
            query,
            query_embedding=query_embedding,
            mode=mode,
            fusion=fusion,
            semantic_weight=semantic_weight,
            top_k=top_k,
            min_similarity=min_similarity,
            explain=explain,
        )
        request = requests.search_request(
            options,
            scope=scope,
            visibility=visibility,
            kinds=kinds,
            custom_types=custom_types,
            filters=filters,
            include_embedding=include_embedding,
            store=store,
        )
        reply = await self._connection.call(lambda stubs: stubs.memories.SearchMemories, request, timeout)
        return decode_memory_hits(reply)
