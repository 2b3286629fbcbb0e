"""The memories of memory banks: `client.memory_banks.memories`."""

from collections.abc import Mapping, Sequence

from ricordo import memory_bank as types
from ricordo._async.bank_generation import AsyncBankGeneration
from ricordo._async.bank_names import AsyncBankNames
from ricordo._async.bank_pager import AsyncBankPager
from ricordo._async.bank_retrieval import AsyncBankRetrieval
from ricordo._async.bank_revisions import AsyncBankRevisions
from ricordo._async.extraction import AsyncExtraction
from ricordo._async.memories import AsyncMemories
from ricordo._async.sessions import AsyncSessions
from ricordo._async.stores import AsyncStores
from ricordo._convert import bank_memories as convert
from ricordo._convert.bank_filters import read_filter
from ricordo._convert.bank_generation import check_source
from ricordo._convert.bank_names import target_revision
from ricordo._convert.bank_profiles import decode_profiles
from ricordo._convert.bank_values import check_same_scope, exactly, our_scope
from ricordo.errors import MemoryClientError
from ricordo.memory_bank.base import OrDict
from ricordo.memory_bank.filter import FilterConfig


class AsyncBankMemories:
    """Writes, reads, finds and generates the memories of banks.

    Every argument that is a model of `ricordo.memory_bank` may be a dict of the same shape. A `name` is as its bank's
    was given: see `AsyncMemoryBanks`. `timeout` is in seconds, retries included (None: the client's). Failures are
    `MemoryAPIError`s.

    Attributes:
        revisions: What memories were before.
    """

    def __init__(
        self,
        names: AsyncBankNames,
        stores: AsyncStores,
        memories: AsyncMemories,
        extraction: AsyncExtraction,
        sessions: AsyncSessions,
    ) -> None:
        self._names = names
        self._stores = stores
        self._memories = memories
        self._extraction = extraction
        self._sessions = sessions
        self.revisions = AsyncBankRevisions(names, memories.revisions)

    async def create(
        self,
        *,
        name: str,
        fact: str,
        scope: Mapping[str, str],
        config: OrDict[types.MemoryConfig] | None = None,
        timeout: float | None = None,
    ) -> types.MemoryOperation:
        """Writes a memory as it is: it is compared with no other.

        Args:
            name: The bank.
            fact: What to remember, at most 256 KiB.
            scope: Whose it is: at most 5 pairs, for good.
            config: What else it has.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The chosen id is in use.
        """
        bank = await self._names.bank(name)
        given = types.MemoryConfig.read(config)
        memory = await self._memories.create(
            convert.new_memory(fact, scope, given),
            ttl=given.ttl,
            revision_options=convert.revision_options(given),
            store=bank.store_id,
            timeout=timeout,
        )
        return types.MemoryOperation(response=convert.decode_memory(memory, bank))

    async def get(
        self,
        *,
        name: str,
        config: OrDict[types.GetMemoryConfig] | None = None,
        timeout: float | None = None,
    ) -> types.Memory:
        """Reads a memory.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        types.GetMemoryConfig.read(config)
        asked = await self._names.memory(name)
        memory = await self._memories.get(asked.memory_id, store=asked.store_id, timeout=timeout)
        return convert.decode_memory(memory, asked)

    async def update(
        self,
        *,
        name: str,
        fact: str | None = None,
        scope: Mapping[str, str] | None = None,
        config: OrDict[types.UpdateMemoryConfig] | None = None,
        timeout: float | None = None,
    ) -> types.MemoryOperation:
        """Changes what is given, and writes a revision.

        Args:
            name: The memory.
            fact: What it says now.
            scope: Whose it is; a memory stays in its scope, so this only confirms it.
            config: What else changes.
            timeout: Seconds.

        Raises:
            MemoryClientError: Nothing is given, or another scope than the memory's.
            NotFoundError: There is no such memory.
        """
        asked = await self._names.memory(name)
        given = types.UpdateMemoryConfig.read(config)
        if scope is not None:
            known = await self._memories.get(asked.memory_id, store=asked.store_id, timeout=timeout)
            check_same_scope(scope, known)
        memory = await self._memories.update(
            asked.memory_id,
            convert.changes_of(fact, given),
            ttl=given.ttl,
            revision_options=convert.revision_options(given),
            store=asked.store_id,
            timeout=timeout,
        )
        return types.MemoryOperation(response=convert.decode_memory(memory, asked))

    async def delete(
        self,
        *,
        name: str,
        config: OrDict[types.DeleteMemoryConfig] | None = None,
        timeout: float | None = None,
    ) -> types.DeleteMemoryOperation:
        """Deletes a memory; `rollback` brings it back for 30 days.

        Raises:
            NotFoundError: There is no such memory.
        """
        types.DeleteMemoryConfig.read(config)
        asked = await self._names.memory(name)
        await self._memories.delete(asked.memory_id, store=asked.store_id, timeout=timeout)
        return types.DeleteMemoryOperation()

    async def list(
        self,
        *,
        name: str,
        config: OrDict[types.ListMemoriesConfig] | None = None,
        timeout: float | None = None,
    ) -> AsyncBankPager[types.Memory]:
        """Lists the memories of a bank, of every scope that the credential may read; newest first by default.

        Args:
            name: The bank.
            config: Which, how ordered, and how many a page.
            timeout: Seconds for each page.

        Raises:
            InvalidFilterError: The filter cannot be read; the message says at which character.
        """
        bank = await self._names.bank(name)
        given = types.ListMemoriesConfig.read(config)
        memories = self._memories.list(
            scope=None if given.scope is None else exactly(given.scope),
            kinds=convert.ALL_KINDS,
            filters=read_filter(given.filter, given.filter_groups),
            order_by=given.order_by,
            page_size=given.page_size,
            page_token=given.page_token,
            store=bank.store_id,
            timeout=timeout,
        )
        return await AsyncBankPager.open(memories.mapped(lambda each: convert.decode_memory(each, bank)))

    async def retrieve(
        self,
        *,
        name: str,
        scope: Mapping[str, str],
        similarity_search_params: OrDict[types.RetrieveMemoriesRequestSimilaritySearchParams] | None = None,
        simple_retrieval_params: OrDict[types.RetrieveMemoriesRequestSimpleRetrievalParams] | None = None,
        config: OrDict[types.RetrieveMemoriesConfig] | None = None,
        timeout: float | None = None,
    ) -> AsyncBankPager[types.RetrieveMemoriesResponseRetrievedMemory]:
        """Finds memories whose scope is exactly the given one: the closest to a query first, or all of them.

        Args:
            name: The bank.
            scope: The same keys and values, in any order.
            similarity_search_params: What to look for: one page, by ascending `distance`.
            simple_retrieval_params: How many a page, when all are wanted.
            config: Further conditions.
            timeout: Seconds for each page.

        Raises:
            MemoryClientError: Both params are given.
            InvalidFilterError: The filter cannot be read; the message says at which character.
        """
        if similarity_search_params is not None and simple_retrieval_params is not None:
            raise MemoryClientError("give similarity_search_params or simple_retrieval_params, not both")
        retrieval = AsyncBankRetrieval(
            self._memories,
            await self._names.bank(name),
            scope,
            types.RetrieveMemoriesConfig.read(config),
            timeout,
        )
        if similarity_search_params is not None:
            search = types.RetrieveMemoriesRequestSimilaritySearchParams.read(similarity_search_params)
            return await AsyncBankPager.open(retrieval.similar(search))
        simple = types.RetrieveMemoriesRequestSimpleRetrievalParams.read(simple_retrieval_params)
        return await AsyncBankPager.open(retrieval.everything(simple))

    async def retrieve_profiles(
        self,
        *,
        name: str,
        scope: Mapping[str, str],
        config: OrDict[types.RetrieveMemoryProfilesConfig] | None = None,
        timeout: float | None = None,
    ) -> types.RetrieveProfilesResponse:
        """Reads what is known of a scope in a structured form, by schema; without any search.

        Args:
            name: The bank.
            scope: The same keys and values, in any order.
            config: Empty.
            timeout: Seconds.
        """
        types.RetrieveMemoryProfilesConfig.read(config)
        bank = await self._names.bank(name)
        profiles = await self._memories.retrieve_profiles(
            our_scope(scope), store=bank.store_id, timeout=timeout
        )
        return decode_profiles(profiles)

    async def generate(
        self,
        *,
        name: str,
        vertex_session_source: OrDict[types.GenerateMemoriesRequestVertexSessionSource] | None = None,
        direct_contents_source: OrDict[types.GenerateMemoriesRequestDirectContentsSource] | None = None,
        direct_memories_source: OrDict[types.GenerateMemoriesRequestDirectMemoriesSource] | None = None,
        scope: Mapping[str, str] | None = None,
        config: OrDict[types.GenerateMemoriesConfig] | None = None,
        timeout: float | None = None,
    ) -> types.GenerateMemoriesOperation:
        """Makes memories of one source, and consolidates them with those of the same scope.

        Args:
            name: The bank.
            vertex_session_source: Turns of a session.
            direct_contents_source: Turns that are not recorded.
            direct_memories_source: Facts as they are.
            scope: Whose memories; may be left out with a session: those of its user then.
            config: How they are made. With `wait_for_completion=False` a worker makes them, and the answer names the
                operation: `client.memory_banks.get_operation`.
            timeout: Seconds; None: as long as the server lets a call take (`MAX_CALL_SECONDS`). What takes longer is
                for a worker, and `client.memory_banks.wait_operation`.

        Raises:
            MemoryClientError: Not exactly one source is given, or no scope.
            ServiceUnavailableError: The extraction model cannot be reached.
        """
        check_source(vertex_session_source, direct_contents_source, direct_memories_source, scope)
        bank = await self._names.bank(name)
        given = types.GenerateMemoriesConfig.read(config)
        generation = AsyncBankGeneration(
            self._stores, self._extraction, self._sessions, bank, scope, given, timeout
        )
        if vertex_session_source is None:
            return await generation.of_direct(direct_contents_source, direct_memories_source)
        session = types.GenerateMemoriesRequestVertexSessionSource.read(vertex_session_source)
        return await generation.of_session(session)

    async def rollback(
        self,
        *,
        name: str,
        target_revision_id: str | int,
        config: OrDict[types.RollbackMemoryConfig] | None = None,
        timeout: float | None = None,
    ) -> types.RollbackMemoryOperation:
        """Makes a memory what it was at a revision, as a new revision; a deleted one comes back.

        Args:
            name: The memory.
            target_revision_id: The revision: its number, or its name.
            config: How to wait.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such memory or revision.
        """
        asked = await self._names.memory(name)
        types.RollbackMemoryConfig.read(config)
        memory = await self._memories.rollback(
            asked.memory_id,
            target_revision(target_revision_id, asked),
            store=asked.store_id,
            timeout=timeout,
        )
        return types.RollbackMemoryOperation(response=convert.decode_memory(memory, asked))

    async def purge(
        self,
        *,
        name: str,
        filter: str | None = None,  # noqa: A002  (the name that users of memory banks know)
        filter_groups: Sequence[OrDict[types.MemoryConjunctionFilter]] | None = None,
        scope: Mapping[str, str] | None = None,
        force: bool = False,
        config: OrDict[types.PurgeMemoriesConfig] | None = None,
        timeout: float | None = None,
    ) -> types.PurgeMemoriesOperation:
        """Deletes the memories that fit, of every scope that the credential may write; counts them without `force`.

        Args:
            name: The bank.
            filter: Which, as text.
            filter_groups: Which, by their metadata; with `filter` too, both must hold.
            scope: Which, by their exact scope; with filters too, all must hold.
            force: Delete them.
            config: How to wait.
            timeout: Seconds for each 500.

        Raises:
            MemoryClientError: Nothing says which.
            InvalidFilterError: The filter cannot be read; the message says at which character.
        """
        bank = await self._names.bank(name)
        types.PurgeMemoriesConfig.read(config)
        given = FilterConfig.read({"filter": filter, "filter_groups": filter_groups})
        condition = read_filter(given.filter, given.filter_groups)
        if condition is None and scope is None:
            raise MemoryClientError("purge needs a filter, filter_groups or a scope: it says which")
        of_scope = None if scope is None else exactly(scope)
        count, more = 0, True
        while more:
            step = await self._memories.delete_matching(
                scope=of_scope,
                kinds=convert.ALL_KINDS,
                filters=condition,
                force=force,
                store=bank.store_id,
                timeout=timeout,
            )
            count += step.deleted if force else step.matching
            more = force and 0 < step.deleted < step.matching
        return types.PurgeMemoriesOperation(response=types.PurgeMemoriesResponse(purge_count=count))
