"""Tools that a model may call: plain typed functions, whose docstrings are written for it.

The actor is fixed when they are made. It is never an argument: a model must not choose whose memories it reads.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo._async.store_entries import AsyncStoredEntry
from ricordo._convert import tools as texts
from ricordo.errors import NotFoundError, RevisionMismatchError

AsyncTool = Callable[..., Awaitable[Any]]

RECALLED = 5
LISTED = 100
# Each one that fails is another writer who was faster; ten in a row mean that something is wrong.
ATTEMPTS = 10


def memory_tools(store: AsyncMemoryStore | None, actor_id: str) -> list[AsyncTool]:
    """The tools `remember`, `recall`, `forget` and `list_memories`, which keep facts as lines under topics.

    Args:
        store: Where; None: there is no memory here, and no tools.
        actor_id: Whose memories, from trusted code.

    Raises:
        MemoryClientError: `actor_id` is blank.
    """
    if store is None:
        return []
    texts.check_actor(actor_id)

    async def remember(fact: str, topic: str = texts.GENERAL) -> str:
        """Remember one fact for later conversations.

        Args:
            fact: One self-contained sentence, such as "The user is allergic to peanuts."
            topic: A short name of what it is about, such as "diet"; facts of one topic are kept together.
        """
        line = texts.one_line(fact)
        if not line:
            return "There was nothing to remember."
        path = texts.topic_path(topic or texts.GENERAL)
        await store.put(actor_id=actor_id, path=path, content=line, append=True)
        return f"Remembered under {path}."

    async def recall(query: str, session_id: str | None = None) -> list[dict[str, Any]]:
        """Search what is remembered; the best matches first.

        Args:
            query: What to look for, in plain words.
            session_id: Only what belongs to this session.
        """
        hits = await store.search(actor_id=actor_id, query=query, session_id=session_id, limit=RECALLED)
        return [texts.found(hit.memory, hit.score) for hit in hits]

    async def forget(
        fact: str, topic: str | None = None, path: str | None = None, session_id: str | None = None
    ) -> str:
        """Forget one fact: removes the line that says exactly this.

        Args:
            fact: The fact as it was remembered.
            topic: The topic it was remembered under.
            path: The path of the entry, instead of the topic.
            session_id: The session that the entry belongs to.
        """
        place = path or texts.topic_path(topic or texts.GENERAL)
        return await _forget_line(store, actor_id, place, session_id, fact)

    async def list_memories(session_id: str | None = None) -> list[dict[str, Any]]:
        """List what is remembered: the paths, and how many facts each holds.

        Args:
            session_id: Only what belongs to this session.
        """
        entries: list[dict[str, Any]] = []
        async for entry in store.list(actor_id=actor_id, session_id=session_id, page_size=LISTED):
            entries.append(texts.counted(entry))
            if len(entries) == LISTED:
                break
        return entries

    return [remember, recall, forget, list_memories]


def entry_tools(store: AsyncMemoryStore | None, actor_id: str) -> list[AsyncTool]:
    """The tools `search_memory`, `save_memory`, `list_memories` and `forget_memory`, on whole entries.

    Args:
        store: Where; None: there is no memory here, and no tools.
        actor_id: Whose memories, from trusted code.

    Raises:
        MemoryClientError: `actor_id` is blank.
    """
    if store is None:
        return []
    texts.check_actor(actor_id)

    async def search_memory(query: str) -> list[dict[str, Any]]:
        """Search the saved memories; the best matches first.

        Args:
            query: What to look for, in plain words.
        """
        hits = await store.search(actor_id=actor_id, query=query, limit=RECALLED)
        return [texts.found(hit.memory, hit.score) for hit in hits]

    async def save_memory(path: str, content: str, description: str = "") -> str:
        """Save a memory under a path, over what is there.

        Args:
            path: Where, such as "/preferences/diet.md".
            content: What to remember.
            description: One line that says what it holds.
        """
        await store.put(actor_id=actor_id, path=path, content=content, description=description or None)
        return f"Saved {path}."

    async def list_memories(path_prefix: str = "/") -> list[dict[str, Any]]:
        """List the saved memories: their paths and descriptions.

        Args:
            path_prefix: Only those whose path begins so.
        """
        entries: list[dict[str, Any]] = []
        async for entry in store.list(actor_id=actor_id, path_prefix=path_prefix, page_size=LISTED):
            entries.append(texts.listed(entry))
            if len(entries) == LISTED:
                break
        return entries

    async def forget_memory(path: str) -> str:
        """Delete the memory under a path, in every session.

        Args:
            path: Its path, as `list_memories` shows it.
        """
        count = 0
        async for entry in store.list(actor_id=actor_id, path=path, view="basic"):
            await entry.delete()
            count += 1
        return f"Deleted {path}." if count else f"There is nothing at {path}."

    return [search_memory, save_memory, list_memories, forget_memory]


async def _forget_line(
    store: AsyncMemoryStore, actor_id: str, path: str, session_id: str | None, fact: str
) -> str:
    """Removes the line unless somebody changes the entry meanwhile; then it looks again."""
    for attempt in range(1, ATTEMPTS + 1):
        entry = await _find(store, actor_id, path, session_id)
        kept = texts.without_line(entry.content or "", fact) if entry else None
        if entry is None or kept is None:
            return f"{path} does not say that."
        try:
            if kept:
                await entry.update(content=kept, expected_revision=entry.revision)
            else:
                await entry.delete(expected_revision=entry.revision)
        except (RevisionMismatchError, NotFoundError):
            if attempt == ATTEMPTS:
                raise
        else:
            return f"Forgotten from {path}."
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _find(
    store: AsyncMemoryStore, actor_id: str, path: str, session_id: str | None
) -> AsyncStoredEntry | None:
    """The actor's entry at exactly this path and session."""
    async for entry in store.list(actor_id=actor_id, path=path):
        if entry.session_id == (session_id or ""):
            return entry
    return None
