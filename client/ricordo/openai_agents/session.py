"""The history of a conversation, kept as turns."""

from typing import cast

from agents import SessionSettings, TResponseInputItem

from ricordo import AsyncClient
from ricordo._convert.agent_items import decode_items, encode_item
from ricordo.errors import NotFoundError
from ricordo.identity import require_given
from ricordo.models import Matching, Scope, Turn

# What one call records, and reads: both answers fit what is said in turns of usual size.
MOST_TURNS = 500
PAGE_SIZE = 100


class RicordoSession:
    """A `Session` of the OpenAI Agents SDK: what a run says records itself as turns of one user's session.

    So it is searched, learned from and forgotten like all turns. Items come back as they were added; turns that
    another surface recorded come back as items, too. An item holds at most 256 KiB. Failures are `MemoryAPIError`s.

    Args:
        client: The connection; it stays open.
        user_id: Whose conversation, from trusted code.
        session_id: Which.
        agent_id: Who records, kept with each turn.
        store: The store; None: `default`.
        session_settings: How many items a run reads; None: all.

    Raises:
        MemoryIdentityError: `user_id` or `session_id` is blank.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        user_id: str,
        session_id: str,
        agent_id: str = "",
        store: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._sessions = client.sessions
        self._scope = Scope(
            user_id=require_given(user_id, "user_id"),
            session_id=require_given(session_id, "session_id"),
        )
        self._agent_id = agent_id
        self._store = store

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Reads the conversation, oldest first.

        Args:
            limit: Only the last so many items; None: what the settings say, else all.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        turns = self._sessions.list_turns(
            scope=Matching(user_id=self._scope.user_id, session_id=self.session_id),
            order_by="turn_seq desc" if limit else "turn_seq",
            page_size=min(limit or PAGE_SIZE, PAGE_SIZE),
            store=self._store,
        )
        items: list[TResponseInputItem] = []
        async for turn in turns:
            found = _items_of(turn)
            items += reversed(found) if limit else found
            if limit and len(items) >= limit:
                break
        return items[:limit][::-1] if limit else items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Records items in their order: 500 at a time, each time all or none."""
        turns = [encode_item(item, self._agent_id) for item in items]
        for start in range(0, len(turns), MOST_TURNS):
            batch = turns[start : start + MOST_TURNS]
            await self._sessions.batch_record_turns(batch, scope=self._scope, store=self._store)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last turn back, with what was learned from it alone, and returns its last item; None: no turn."""
        try:
            turn = await self._sessions.pop_turn(self._scope, store=self._store)
        except NotFoundError:
            return None
        return _items_of(turn)[-1]

    async def clear_session(self) -> None:
        """Takes every turn back, with what was learned from these alone."""
        try:
            await self._sessions.clear(self._scope, store=self._store)
        except NotFoundError:
            return


def _items_of(turn: Turn) -> list[TResponseInputItem]:
    return [cast(TResponseInputItem, item) for item in decode_items(turn)]
