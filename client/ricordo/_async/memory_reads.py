"""Reads of memories: a part of `client.memories`."""

from collections.abc import Collection, Sequence

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert import memory_requests as requests
from ricordo._convert.memories import decode_domain, decode_memory
from ricordo._convert.paging import at_page
from ricordo._convert.profiles import decode_profile, retrieve_profiles_request
from ricordo._convert.searches import decode_memory_hits, encode_options
from ricordo.filters import FilterInput
from ricordo.models import MemoryKind, SearchMode, View, Visibility


class AsyncMemoryReads:
    """Reads, lists and searches memories."""

    _connection: AsyncConnection

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
