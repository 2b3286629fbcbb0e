"""Memory banks, each a container of memories by scope: `client.memory_banks`."""

from collections.abc import Mapping

from ricordo import memory_bank as types
from ricordo import models
from ricordo._async.bank_ingestion import AsyncBankIngestion
from ricordo._async.bank_memories import AsyncBankMemories
from ricordo._async.bank_names import AsyncBankNames
from ricordo._async.bank_pager import AsyncBankPager
from ricordo._async.extraction import AsyncExtraction
from ricordo._async.identities import AsyncIdentity
from ricordo._async.memories import AsyncMemories
from ricordo._async.operations import AsyncOperations
from ricordo._async.sessions import AsyncSessions
from ricordo._async.stores import AsyncStores
from ricordo._convert.bank_generation import decode_operation
from ricordo._convert.bank_ingestion import encode_events, encode_rule, stream_scope
from ricordo._convert.bank_names import bank_name
from ricordo._convert.bank_settings import encode_settings
from ricordo._convert.banks import decode_bank, new_bank_id
from ricordo.errors import MemoryClientError
from ricordo.memory_bank.base import OrDict


class AsyncMemoryBanks:
    """Creates, finds, changes and deletes memory banks.

    A bank is a store: `name` is its id, "memoryBanks/<id>", "reasoningEngines/<id>" or either behind
    "projects/<project>/locations/<location>/", where the project is held against the credential's. Names come back in
    the form that was given. `timeout` is in seconds, retries included (None: the client's). Failures are
    `MemoryAPIError`s.

    Attributes:
        memories: What is in them.
    """

    def __init__(
        self,
        stores: AsyncStores,
        memories: AsyncMemories,
        extraction: AsyncExtraction,
        sessions: AsyncSessions,
        operations: AsyncOperations,
        identity: AsyncIdentity,
    ) -> None:
        self._stores = stores
        self._operations = operations
        self._sessions = sessions
        self._names = AsyncBankNames(identity)
        self.memories = AsyncBankMemories(self._names, stores, memories, extraction, sessions)

    async def create(
        self,
        *,
        managed_semantic_memory_config: OrDict[types.ManagedSemanticMemoryConfig] | None = None,
        config: OrDict[types.CreateMemoryBankConfig] | None = None,
        timeout: float | None = None,
    ) -> types.MemoryBank:
        """Creates a bank, open to the project.

        Args:
            managed_semantic_memory_config: How it works, where not as the project says. Of what is said a bank makes
                facts and fields of profiles.
            config: Its id, display name and description.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The id is taken.
        """
        given = types.CreateMemoryBankConfig.read(config)
        name = bank_name(given.memory_bank_id or new_bank_id())
        store = await self._stores.create(
            name.store_id,
            display_name=given.display_name or "",
            description=given.description or "",
            settings=_settings(managed_semantic_memory_config or {}),
            timeout=timeout,
        )
        return decode_bank(store, name)

    async def get(
        self,
        *,
        name: str,
        config: OrDict[types.GetMemoryBankConfig] | None = None,
        timeout: float | None = None,
    ) -> types.MemoryBank:
        """Reads a bank.

        Raises:
            NotFoundError: There is none, or none that this credential may see.
        """
        types.GetMemoryBankConfig.read(config)
        asked = await self._names.bank(name)
        return decode_bank(await self._stores.get(asked.store_id, timeout=timeout), asked)

    async def list(
        self,
        *,
        config: OrDict[types.ListMemoryBanksConfig] | None = None,
        timeout: float | None = None,
    ) -> AsyncBankPager[types.MemoryBank]:
        """Lists the banks that the credential may see, by id.

        Args:
            config: How many a page.
            timeout: Seconds for each page.
        """
        given = types.ListMemoryBanksConfig.read(config)
        stores = self._stores.list(page_size=given.page_size, page_token=given.page_token, timeout=timeout)
        return await AsyncBankPager.open(stores.mapped(self._listed))

    async def update(
        self,
        *,
        name: str,
        managed_semantic_memory_config: OrDict[types.ManagedSemanticMemoryConfig] | None = None,
        config: OrDict[types.UpdateMemoryBankConfig] | None = None,
        timeout: float | None = None,
    ) -> types.MemoryBank:
        """Changes what is given.

        Args:
            name: The bank.
            managed_semantic_memory_config: How it works from now on; takes the place of all that it had of its own.
            config: Its display name and description.
            timeout: Seconds.

        Raises:
            MemoryClientError: Nothing is given.
            NotFoundError: There is no such bank.
        """
        asked = await self._names.bank(name)
        given = types.UpdateMemoryBankConfig.read(config)
        store = await self._stores.update(
            asked.store_id,
            display_name=given.display_name,
            description=given.description,
            settings=_settings(managed_semantic_memory_config),
            timeout=timeout,
        )
        return decode_bank(store, asked)

    async def delete(
        self,
        *,
        name: str,
        force: bool | None = False,
        config: OrDict[types.DeleteMemoryBankConfig] | None = None,
        timeout: float | None = None,
    ) -> types.DeleteMemoryBankOperation:
        """Deletes a bank.

        Args:
            name: The bank.
            force: With everything in it.
            config: Empty.
            timeout: Seconds.

        Raises:
            StoreNotEmptyError: It holds memories or sessions, and `force` is not given.
            NotFoundError: There is no such bank.
        """
        types.DeleteMemoryBankConfig.read(config)
        asked = await self._names.bank(name)
        await self._stores.delete(asked.store_id, force=bool(force), timeout=timeout)
        return types.DeleteMemoryBankOperation()

    async def ingest_events(
        self,
        *,
        name: str,
        scope: Mapping[str, str],
        stream_id: str = "",
        direct_contents_source: OrDict[types.IngestionDirectContentsSource] | None = None,
        generation_trigger_config: OrDict[types.MemoryGenerationTriggerConfig] | None = None,
        config: OrDict[types.IngestEventsConfig] | None = None,
        timeout: float | None = None,
    ) -> types.MemoryBankIngestEventsOperation:
        """Adds events to a stream, which is the session of that id, and says when memories are made of them.

        Where neither the stream nor the bank has a rule for that, it is now. A worker makes them.

        Args:
            name: The bank.
            scope: Whose memories: at most 4 pairs.
            stream_id: The stream of that scope; "": "default".
            direct_contents_source: The events; may be left out with a rule or `force_flush`.
            generation_trigger_config: The rule of the stream from now on, also for events that wait.
            config: How memories are made of all events that wait.
            timeout: Seconds; with `wait_for_completion` for the waiting too (None: 10 minutes for what is due now, 25
                hours for what a rule has made wait).

        Raises:
            MemoryClientError: There is nothing to do.
            DeadlineExceededError: The memories are not made yet; it goes on, as soon as a worker runs.
        """
        given = types.IngestEventsConfig.read(config)
        if direct_contents_source is None and generation_trigger_config is None and not given.force_flush:
            raise MemoryClientError("give events, a generation_trigger_config or force_flush")
        ingestion = AsyncBankIngestion(
            self._stores,
            self._sessions,
            await self._names.bank(name),
            stream_scope(scope, stream_id),
            given,
            timeout,
        )
        return await ingestion.ingest(
            encode_events(direct_contents_source), encode_rule(generation_trigger_config)
        )

    async def get_operation(
        self, *, name: str, timeout: float | None = None
    ) -> types.GenerateMemoriesOperation:
        """Reads an operation: `done` says whether it is over, `error` and `response` what came of it.

        Args:
            name: "<bank>/operations/<operation>".
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such operation: they are kept for 7 days after their end.
        """
        asked = await self._names.operation(name)
        found = await self._operations.get(asked.operation_id, store=asked.store_id, timeout=timeout)
        return decode_operation(found, asked)

    async def wait_operation(
        self, *, name: str, timeout: float | None = None
    ) -> types.GenerateMemoriesOperation:
        """Waits until an operation is over, or the time is; `done` says which.

        Args:
            name: "<bank>/operations/<operation>".
            timeout: Seconds; None: as long as it takes.

        Raises:
            NotFoundError: There is no such operation.
        """
        asked = await self._names.operation(name)
        found = await self._operations.wait(asked.operation_id, store=asked.store_id, timeout=timeout)
        return decode_operation(found, asked)

    @staticmethod
    def _listed(store: models.Store) -> types.MemoryBank:
        return decode_bank(store, bank_name(store.store_id))


def _settings(
    config: OrDict[types.ManagedSemanticMemoryConfig] | None,
) -> models.StoreSettings | None:
    if config is None:
        return None
    return encode_settings(types.ManagedSemanticMemoryConfig.read(config))
