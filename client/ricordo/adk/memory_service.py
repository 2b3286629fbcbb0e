"""The memory service of the Agent Development Kit, on a store."""

from collections.abc import Mapping, Sequence

from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session

from ricordo import AsyncClient
from ricordo.adk.events import entry_of, new_memory, turns_of
from ricordo.errors import MemoryClientError, MemoryNotSupportedError
from ricordo.models import Exactly, MemoryKind, Scope

# What one call records.
MOST_TURNS = 500
DEFAULT_TOP_K = 3
KINDS = (MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.DOCUMENT)
# Events that are given without a session are one conversation.
NO_SESSION = "events"
CONSOLIDATE = "enable_consolidation"
# What a memory bank takes here and this service does not: refused, for silence would say that it holds.
BANK_OPTIONS = frozenset(
    {
        "allowed_topics",
        "disable_consolidation",
        "disable_memory_revisions",
        "force_flush",
        "generation_trigger_config",
        "metadata_merge_strategy",
        "revision_expire_time",
        "revision_labels",
        "revision_ttl",
        "stream_id",
        "ttl",
        "wait_for_completion",
    }
)


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
            custom_metadata: Kept with each turn.

        Raises:
            MemoryNotSupportedError: The metadata names an option of memory banks.
        """
        turns = turns_of(events, _metadata(custom_metadata))
        scope = _scope(app_name, user_id).model_copy(update={"session_id": session_id or NO_SESSION})
        for start in range(0, len(turns), MOST_TURNS):
            batch = turns[start : start + MOST_TURNS]
            await self._client.sessions.batch_record_turns(batch, scope=scope, store=self._store)
        if turns:
            await self._client.sessions.promote(scope, store=self._store)

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
            MemoryNotSupportedError: The metadata names an option of memory banks.
        """
        metadata = _metadata(custom_metadata)
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
    return Scope(user_id=user_id, labels={"app_name": app_name})


def _metadata(given: Mapping[str, object] | None) -> dict[str, object]:
    metadata = dict(given or {})
    unknown = BANK_OPTIONS.intersection(metadata)
    if unknown:
        raise MemoryNotSupportedError(
            f"{', '.join(sorted(unknown))}: options of memory banks; use client.memory_banks for these"
        )
    return metadata
