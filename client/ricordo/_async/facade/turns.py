"""Turns, and what was learned from them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ricordo import identity, models
from ricordo._aio import gather
from ricordo._async.facade.operations import AsyncOperations, not_found
from ricordo._convert import facade
from ricordo._convert.chunks import chunk_of_turn
from ricordo.errors import MemoryBadRequestError
from ricordo.models import MetadataValue

TURNS_AT_ONCE = 16


class AsyncTurnMemory(AsyncOperations):
    """Short-term memory: what was said."""

    async def record_turn(
        self,
        *,
        role: str,
        content: str | None = None,
        session_id: str | None = None,
        tool_calls: Iterable[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        is_error: bool = False,
        model_name: str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.WriteTurnResult:
        """Records one message of a session; it can be searched when this returns.

        Args:
            role: "user", "assistant", "system", "tool" or a name of your own.
            content: What was said, at most 256 KiB; may be missing beside tool calls.
            session_id: The session.
            tool_calls: The tools the model called, as providers write them.
            tool_call_id: The call this message answers.
            tool_name: The tool that answers.
            is_error: Whether the tool failed.
            model_name: The model that spoke.
            metadata: Pairs of your own.
            idempotency_key: Recording the same key in the session again answers the first turn, for good.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: Nobody names a session.
        """
        who = self._who(session_id=session_id)
        session = identity.require(who.session_id, "session_id", "record_turn")
        turn = models.NewTurn(
            role=role,
            content=content or "",
            tool_calls=facade.tool_calls_of(tool_calls),
            tool_call_id=tool_call_id or "",
            tool_name=tool_name or "",
            is_error=is_error,
            model_name=model_name or "",
            metadata=facade.pairs(metadata, "metadata") or {},
            agent_id=who.agent_id or "",
            idempotency_key=idempotency_key or "",
        )
        await self._guard.check()
        recorded = await self._client.sessions.record_turn(
            turn,
            scope=models.Scope(user_id=who.user_id or "", session_id=session),
            store=self._store,
            timeout=timeout,
        )
        return facade.turn_result(recorded)

    async def record_turns(
        self,
        turns: Iterable[models.NewTurn],
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        timeout: float | None = None,
    ) -> list[models.WriteTurnResult]:
        """Records 1 to 500 messages of one session in their order, all or nothing.

        Args:
            turns: What was said; a turn without an agent has that of the context.
            user_id: Whose session.
            session_id: The session.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: Nobody names a session.
        """
        who = self._who(user_id=user_id, session_id=session_id)
        session = identity.require(who.session_id, "session_id", "record_turns")
        mine = [
            turn if turn.agent_id or not who.agent_id else turn.model_copy(update={"agent_id": who.agent_id})
            for turn in turns
        ]
        await self._guard.check()
        recorded = await self._client.sessions.batch_record_turns(
            mine,
            scope=models.Scope(user_id=who.user_id or "", session_id=session),
            store=self._store,
            timeout=timeout,
        )
        return [facade.turn_result(one) for one in recorded]

    async def why(
        self, memory_id: str, *, user_id: str | None = None, timeout: float | None = None
    ) -> models.MemoryOrigin:
        """Tells where a memory comes from: who wrote it, in which session, and the turns it rests on.

        Args:
            memory_id: The memory.
            user_id: Who asks: their own memories and shared ones only.
            timeout: Seconds for each request.

        Raises:
            NotFoundError: There is no such memory, or it is another user's own.
        """
        facade.require_text(memory_id, "memory_id")
        asker = self._who(user_id=user_id).user_id
        await self._guard.check()
        memory = await self._client.memories.get(memory_id, store=self._store, timeout=timeout)
        if asker and memory.scope.user_id != asker and memory.visibility is not models.Visibility.ORG:
            raise not_found(f"the user {asker} may read no memory {memory_id}")
        provenance = memory.provenance
        turns = await self._turns(provenance.turn_ids, provenance.source_store_id or self._store, timeout)
        known = [turn for turn in turns if turn and (not asker or turn.scope.user_id == asker)]
        found = {turn.turn_id for turn in known}
        return models.MemoryOrigin(
            id=memory.memory_id,
            content=memory.content,
            source=memory.source,
            agent_id=memory.agent_id,
            session_id=memory.scope.session_id or provenance.session_id,
            extraction_model=provenance.extraction_model,
            turns=[chunk_of_turn(turn) for turn in known],
            missing_turn_ids=[turn_id for turn_id in provenance.turn_ids if turn_id not in found],
        )

    async def _turns(
        self, turn_ids: Sequence[str], store: str | None, timeout: float | None
    ) -> list[models.Turn | None]:
        found: list[models.Turn | None] = []
        for start in range(0, len(turn_ids), TURNS_AT_ONCE):
            asked = turn_ids[start : start + TURNS_AT_ONCE]
            found += await gather([partial(self._turn, turn_id, store, timeout) for turn_id in asked])
        return found

    async def _turn(self, turn_id: str, store: str | None, timeout: float | None) -> models.Turn | None:
        try:
            return await self._client.sessions.get_turn(turn_id, store=store, timeout=timeout)
        except MemoryBadRequestError:  # gone, or no id of ours: provenance takes what its writer says
            return None
