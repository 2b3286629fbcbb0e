"""Sessions of session stores, as handles."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ricordo import models
from ricordo._async.extraction import AsyncExtraction
from ricordo._async.memories import AsyncMemories
from ricordo._async.pager import AsyncPager
from ricordo._async.sessions import AsyncSessions
from ricordo._async.store_entries import AsyncStoredEntry
from ricordo._convert.session_items import decode_item, encode_data, spoken
from ricordo._convert.store_entries import SESSION_STORES, page_size_of, store_id_of
from ricordo.errors import MemoryClientError, NotFoundError
from ricordo.models import Matching, MemoryKind, MetadataValue, Scope, SessionItem

# As many turns as one extraction takes.
PASSAGE = 500


@dataclass(frozen=True)
class AsyncSessionParts:
    """What handles of sessions call."""

    sessions: AsyncSessions
    extraction: AsyncExtraction
    memories: AsyncMemories


@dataclass(frozen=True)
class AsyncStoredSession:
    """A session of an actor: an ordered list of items, each immutable."""

    _parts: AsyncSessionParts = field(repr=False)
    record: models.Session

    @property
    def store_name(self) -> str:
        """ "session-stores/<id>"."""
        return f"{SESSION_STORES}{self.record.store_id}"

    @property
    def session_id(self) -> str:
        """Its id, unique for the actor."""
        return self.record.scope.session_id

    @property
    def actor_id(self) -> str:
        """Whose it is."""
        return self.record.scope.user_id

    @property
    def parent_session_id(self) -> str:
        """The session it belongs under, or is a copy of; "": none."""
        return self.record.parent_session_id

    @property
    def root_session_id(self) -> str:
        """The topmost of its ancestors."""
        return self.record.root_session_id

    @property
    def metadata(self) -> dict[str, Any]:
        """Pairs of one's own."""
        return self.record.metadata

    @property
    def create_time(self) -> datetime:
        """When it was made, in UTC."""
        return self.record.create_time

    @property
    def update_time(self) -> datetime:
        """When it was changed last, in UTC."""
        return self.record.update_time

    @property
    def last_activity_time(self) -> datetime:
        """When the last item came, in UTC."""
        return self.record.last_activity_time

    async def update(
        self, *, metadata: Mapping[str, MetadataValue], timeout: float | None = None
    ) -> "AsyncStoredSession":
        """Gives the session other metadata, in place of what was there."""
        session = await self._parts.sessions.update(
            self._scope, metadata=metadata, timeout=timeout, **self._where
        )
        return AsyncStoredSession(self._parts, session)

    async def delete(self, *, force: bool = False, timeout: float | None = None) -> None:
        """Deletes the session with its items, and what was learned from these alone.

        Args:
            force: With every session below it.
            timeout: Seconds.

        Raises:
            NotFoundError: It is not there any more.
        """
        await self._parts.sessions.delete(self._scope, cascade=force, timeout=timeout, **self._where)

    async def fork(
        self,
        *,
        actor_id: str | None = None,
        up_to_item_id: str | None = None,
        session_id: str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        timeout: float | None = None,
    ) -> "AsyncStoredSession":
        """Copies the session; the two are independent from then on, and nothing is learned twice.

        Args:
            actor_id: None or the session's own: items never cross to another actor.
            up_to_item_id: The last item that is copied; None: all are.
            session_id: The id of the copy; None: the server makes one.
            metadata: Pairs of the copy.
            timeout: Seconds.

        Raises:
            MemoryClientError: Another actor is given.
            AlreadyExistsError: The actor has a session of this id.
            NotFoundError: There is no such item.
        """
        if actor_id not in (None, self.actor_id):
            raise MemoryClientError(f"a copy stays with its actor, {self.actor_id}")
        copy = await self._parts.sessions.fork(
            self._scope,
            up_to_turn_id=up_to_item_id or "",
            session_id=session_id or "",
            metadata=metadata,
            timeout=timeout,
            **self._where,
        )
        return AsyncStoredSession(self._parts, copy)

    def list_items(
        self, *, page_size: int | None = None, order_by: str | None = None, timeout: float | None = None
    ) -> AsyncPager[SessionItem]:
        """Lists items, oldest first; nothing is fetched until iterated.

        Args:
            page_size: Items fetched at a time, 1 to 100; None: 10.
            order_by: Of turn_seq and create_time, each with " desc" behind it for the newest first; None: turn_seq.
            timeout: Seconds for each page.
        """
        return self._turns(order_by or "turn_seq", page_size_of(page_size), timeout).mapped(decode_item)

    async def append_items(self, items: Sequence[Any], *, timeout: float | None = None) -> list[SessionItem]:
        """Adds items at the end in the given order, all or none.

        Args:
            items: 1 to 500 JSON values of at most 256 KiB. Messages as the OpenAI APIs write them are learned
                from.
            timeout: Seconds.

        Raises:
            MemoryClientError: There is none, or one is not made of JSON values.
        """
        recorded = await self._parts.sessions.batch_record_turns(
            encode_data(items), scope=self._scope, timeout=timeout, **self._where
        )
        return [decode_item(each.turn) for each in recorded]

    async def pop_item(self, *, timeout: float | None = None) -> SessionItem | None:
        """Removes the last item, with what was learned from it alone, and returns it; None: there is none."""
        try:
            turn = await self._parts.sessions.pop_turn(self._scope, timeout=timeout, **self._where)
        except NotFoundError:
            return None
        return decode_item(turn)

    async def clear_items(self, *, timeout: float | None = None) -> None:
        """Removes every item, with what was learned from these alone; the session stays."""
        await self._parts.sessions.clear(self._scope, timeout=timeout, **self._where)

    async def extract_memories(
        self,
        memory_store: str,
        instructions: str | None = None,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> list[AsyncStoredEntry]:
        """Distils what was said into entries by topic, such as /user-preferences.md, and waits for them.

        What an entry says already is not written again, and what contradicts a line takes its place.

        Args:
            memory_store: Where they are written, for the same actor: an id, or memory-stores/<id>. In the session's
                own store they name the turns they rest on.
            instructions: What to look for, at most 4,096 characters; None: as the store or the project says.
            dry_run: Only say what would be written.
            timeout: Seconds for each 500 items; extracting waits for the model.

        Returns:
            The entries that were, or would be, made or changed, as they are then; each once.

        Raises:
            MemoryBadRequestError: There are `instructions`, and the server reads by rules.
        """
        store = store_id_of(memory_store)
        made: dict[str, AsyncStoredEntry] = {}
        async for source in self._sources(store, timeout):
            generation = await self._parts.extraction.generate(
                **source,
                scope=Scope(user_id=self.actor_id),
                kinds=[MemoryKind.DOCUMENT],
                instructions=instructions or "",
                dry_run=dry_run,
                store=store,
                timeout=timeout,
            )
            entries = [
                AsyncStoredEntry.of(each.memory, self._parts.memories, store) for each in generation.memories
            ]
            made |= {entry.path: entry for entry in entries}
        return list(made.values())

    async def _sources(self, store: str, timeout: float | None) -> AsyncIterator[dict[str, Any]]:
        """The session, 500 turns at a time: by reference in its own store, else by what was said."""
        turns = self._turns("turn_seq", PASSAGE, timeout)
        async for page in turns.pages():
            if store == self.record.store_id and page.items:
                first, last = page.items[0].turn_seq, page.items[-1].turn_seq
                yield {
                    "session": models.SessionRange(scope=self._scope, from_turn_seq=first, to_turn_seq=last)
                }
            elif said := [spoken(turn) for turn in page.items if turn.content]:
                yield {"turns": said}

    def _turns(self, order_by: str, page_size: int, timeout: float | None) -> AsyncPager[models.Turn]:
        return self._parts.sessions.list_turns(
            scope=Matching(**self._scope.model_dump()),
            order_by=order_by,
            page_size=page_size,
            timeout=timeout,
            **self._where,
        )

    @property
    def _scope(self) -> Scope:
        return self.record.scope

    @property
    def _where(self) -> dict[str, Any]:
        return {"store": self.record.store_id}
