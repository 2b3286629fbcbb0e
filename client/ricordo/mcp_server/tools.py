"""What the tools do: each is one call of the facade, for one user."""

import json
from typing import Any

from ricordo import AsyncMemory, MemoryRequestContext, SourceSpec
from ricordo.errors import MemoryClientError
from ricordo.mcp_server.messages import (
    MAX_CHARACTERS,
    BuildContext,
    BuiltContext,
    FoundMemories,
    FoundMemory,
    RecordedTurn,
    RecordTurn,
    SearchMemories,
)
from ricordo.models import ContextFormat, ContextSource, MemoryChunk, SearchMode

# Documents would take the budget of all others, and custom records are an application's: both are found by a search.
_CONTEXT_SOURCES = [
    SourceSpec(source=source, mode=SearchMode.HYBRID)
    for source in ContextSource
    if source not in (ContextSource.DOCUMENT, ContextSource.CUSTOM)
]
_SEARCHED = [source for source in ContextSource if source is not ContextSource.STM]
_READABLE = "readable"  # the user's own, and what is shared


class MemoryTools:
    """The memory of one user: no argument of a tool names another."""

    def __init__(self, memory: AsyncMemory, who: MemoryRequestContext, *, fixed_session: bool) -> None:
        """Binds the tools.

        Args:
            memory: The facade; whoever made it closes it.
            who: The user, the session that is meant when a call names none, and maybe the agent.
            fixed_session: Refuse every other session.
        """
        self._memory = memory.bind(who)
        self._session_id = who.session_id or ""
        self._fixed_session = fixed_session

    async def record_turn(self, asked: RecordTurn) -> RecordedTurn:
        """Records a turn."""
        turn = await self._memory.record_turn(
            role=asked.role, content=asked.content, session_id=self._session(asked.session_id)
        )
        return RecordedTurn(session_id=turn.session_id, turn_seq=turn.turn_seq)

    async def build_context(self, asked: BuildContext) -> BuiltContext:
        """Builds a context, in Markdown."""
        built = await self._memory.build_context_from_sources(
            asked.query,
            _CONTEXT_SOURCES,
            session_id=self._session(asked.session_id),
            visibility=_READABLE,
            max_tokens=asked.max_tokens,
            format_style=ContextFormat.MARKDOWN,
        )
        return BuiltContext(
            context=str(built.formatted_context),
            token_count=built.metadata.token_count,
            failed_sources=[each.source for each in built.metadata.source_outcomes if each.error],
        )

    async def search_memories(self, asked: SearchMemories) -> FoundMemories:
        """Finds memories, of one type or of all."""
        chunks = await self._memory.search(
            asked.query,
            sources=_SEARCHED if asked.memory_type == "any" else asked.memory_type,
            top_k=asked.limit,
            visibility=_READABLE,
            mode=SearchMode.HYBRID,
        )
        return FoundMemories(memories=[_found(chunk) for chunk in chunks])

    def _session(self, asked: str) -> str:
        if self._fixed_session and asked not in ("", self._session_id):
            raise MemoryClientError("session_id: this server serves one session only: leave session_id out")
        return asked or self._session_id


def _found(chunk: MemoryChunk) -> FoundMemory:
    fields = chunk.metadata or {}
    content = "\n".join([chunk.content, *map(_step, fields.get("steps", ()))])
    return FoundMemory(
        id=chunk.id,
        memory_type=chunk.source,
        label=_label(fields),
        content=content[:MAX_CHARACTERS],
        time=chunk.timestamp.isoformat(timespec="seconds"),
        truncated=len(content) > MAX_CHARACTERS or bool(fields.get("content_omitted")),
    )


def _label(fields: dict[str, Any]) -> str:
    """What names a memory: of a term also its domain."""
    if "term" in fields:
        return f"{fields['term']} ({fields.get('domain', '')})"
    names = ("title", "label", "procedure", "path", "key", "custom_type")
    return next((str(fields[name]) for name in names if fields.get(name)), "")


def _step(step: Any) -> str:
    return "- " + (step if isinstance(step, str) else json.dumps(step, ensure_ascii=False))
