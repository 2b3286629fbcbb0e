"""The memory service of the Agent Development Kit, on a store."""

from collections.abc import Mapping, Sequence

from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session

from ricordo import AsyncClient
from ricordo._async.bank_ingestion import AsyncBankIngestion
from ricordo._convert.bank_names import bank_name
from ricordo._convert.bank_profiles import decode_profiles
from ricordo.adk.events import entry_of, new_memory, turns_of
from ricordo.adk.options import batches, check_no_options, read_options
from ricordo.errors import MemoryClientError
from ricordo.identity import require_given
from ricordo.memory_bank import MemoryProfile
from ricordo.models import Exactly, MemoryKind, Scope

DEFAULT_TOP_K = 3
KINDS = (MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.DOCUMENT)
# Events that are given without a session are one conversation.
NO_SESSION = "events"
CONSOLIDATE = "enable_consolidation"
DEFAULT_STORE = "default"


class RicordoMemoryService(BaseMemoryService):
    """Memories of a user in an application: their scope is exactly `app_name` and `user_id`.

    Sessions are recorded as turns, each event once however often it is added, and turned into memories in the
    background. Failures are `MemoryAPIError`s.

    Args:
        client: The connection; it stays open.
        store: The store; None: `default`.
        top_k: How many memories a search finds, 1 to 200.
    """

    def __init__(self, client: AsyncClient, *, store: str | None = None, top_k: int = DEFAULT_TOP_K) -> None:
        self._client = client
        self._store = store
        self._top_k = top_k

    async def add_session_to_memory(self, session: Session) -> None:
        """Records what was said in a session and is not recorded yet, and has it turned into memories."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Records events, and has them turned into memories in the background.

        Args:
            app_name: The application.
            user_id: Whose, from trusted code.
            events: Those that are recorded already are left as they are.
            session_id: The session they belong to.
            custom_metadata: The options of `memory_banks.ingest_events`: `stream_id` in place of the session,
                `generation_trigger_config`, `force_flush`, `wait_for_completion` and the others of its config. All
                else is kept with each turn.

        Raises:
            MemoryClientError: An option makes no sense.
        """
        options = read_options(custom_metadata)
        turns = turns_of(events, options.metadata)
        stream = _scope(app_name, user_id).model_copy(
            update={"session_id": options.stream_id or session_id or NO_SESSION}
        )
        *before, last = batches(turns) or [[]]
        for batch in before:
            await self._client.sessions.batch_record_turns(batch, scope=stream, store=self._store)
        if turns or options.does_something:
            ingestion = AsyncBankIngestion(
                self._client.stores,
                self._client.sessions,
                bank_name(self._store or DEFAULT_STORE),
                stream,
                options.config,
                timeout=None,
            )
            await ingestion.ingest(last, options.rule)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Writes facts as they are, all or none; consolidated, one after the other and without their times.

        Args:
            app_name: The application.
            user_id: Whose, from trusted code.
            memories: Text; an `id` is the memory's own.
            custom_metadata: Kept with each; with `enable_consolidation` true, facts update and replace known ones.

        Raises:
            AlreadyExistsError: An id is taken.
            MemoryClientError: An entry has no text, or an id though it is to be consolidated.
            MemoryNotSupportedError: The metadata names an option of generating.
        """
        metadata = dict(custom_metadata or {})
        check_no_options(metadata)
        is_consolidated = bool(metadata.pop(CONSOLIDATE, False))
        scope = _scope(app_name, user_id)
        facts = [new_memory(entry, scope, metadata) for entry in memories]
        if is_consolidated and any(fact.memory_id for fact in facts):
            raise MemoryClientError(
                "a fact that may update a known memory has no id of its own: leave it out"
            )
        if not is_consolidated:
            await self._client.memories.batch_create(facts, atomic=True, store=self._store)
            return
        for fact in facts:
            await self._client.extraction.generate(
                facts=[fact.content], scope=scope, metadata=fact.metadata, store=self._store
            )

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Finds memories by words and by meaning, best first."""
        found = await self._client.memories.search(
            query,
            top_k=self._top_k,
            scope=Exactly(**_scope(app_name, user_id).model_dump()),
            kinds=KINDS,
            store=self._store,
        )
        return SearchMemoryResponse(memories=[entry_of(hit.memory) for hit in found.hits])

    async def retrieve_profiles(self, *, app_name: str, user_id: str) -> list[MemoryProfile]:
        """Reads what is known of the user in a structured form, one profile for each schema; without any search."""
        found = await self._client.memories.retrieve_profiles(_scope(app_name, user_id), store=self._store)
        return list(decode_profiles(found).profiles.values())

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Deletes a memory of this user in this application.

        Raises:
            MemoryClientError: No id is given, or it is another's.
            NotFoundError: There is no such memory.
        """
        if not memory_id:
            raise MemoryClientError("delete_memory needs the memory_id that search_memory gave")
        memory = await self._client.memories.get(memory_id, store=self._store)
        if memory.scope != _scope(app_name, user_id):
            raise MemoryClientError(f"{memory_id} is no memory of this user in {app_name}")
        await self._client.memories.delete(memory_id, expected_revision=memory.revision, store=self._store)


def _scope(app_name: str, user_id: str) -> Scope:
    """Exactly whose.

    Raises:
        MemoryIdentityError: Nobody is named.
    """
    return Scope(user_id=require_given(user_id, "user_id"), labels={"app_name": app_name})
