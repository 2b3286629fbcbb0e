"""Episodes: episodic memory."""

from collections.abc import Mapping, Sequence

from ricordo import identity, models
from ricordo._async.facade.operations import AsyncOperations
from ricordo._convert import facade
from ricordo._convert.entries import episodic_entry
from ricordo.filters import MEMORY_FIELDS, FilterInput, parse
from ricordo.models import (
    ContextSource,
    EpisodicDetails,
    MemoryChunk,
    MemoryKind,
    MetadataValue,
    SearchMode,
    Visibility,
)


class AsyncEpisodicMemory(AsyncOperations):
    """Summarised episodes: what happened before."""

    async def save_episode(
        self,
        *,
        title: str,
        content: str,
        user_id: str | None = None,
        summary: str | None = None,
        session_id: str | None = None,
        participants: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        visibility: Visibility | str = Visibility.PRIVATE,
        metadata: Mapping[str, MetadataValue] | None = None,
        agent_id: str | None = None,
        timeout: float | None = None,
    ) -> models.CreateEpisodicResult:
        """Saves an episode of a session.

        Args:
            title: A short title, at most 1 KiB.
            content: What happened, at most 256 KiB.
            user_id: Whose it is.
            summary: A summary, at most 8 KiB.
            session_id: The session it belongs to.
            participants: Who took part.
            tags: Free words.
            visibility: How far it can be read.
            metadata: Pairs of your own.
            agent_id: The agent that writes.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: Nobody names a user, or a session.
        """
        who = self._who(user_id=user_id, session_id=session_id)
        owner = identity.require(who.user_id, "user_id", "save_episode")
        session = identity.require(who.session_id, "session_id", "save_episode")
        memory = self._draft(
            "save_episode",
            MemoryKind.EPISODIC,
            user_id=user_id,
            agent_id=agent_id,
            visibility=visibility,
            metadata=metadata,
            title=title,
            content=content,
            tags=facade.texts(tags, "tags") or (),
            scope=models.Scope(user_id=owner, session_id=session),
            provenance=models.Provenance(session_id=session),
            details=EpisodicDetails(
                participants=facade.texts(participants, "participants") or (), summary=summary or ""
            ),
        )
        saved = await self._write(memory, timeout, upsert=False)
        return models.CreateEpisodicResult(
            id=saved.memory_id, title=saved.title, has_embedding=saved.has_embedding
        )

    async def search_episodes(
        self,
        query: str,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        session_id: str | None = None,
        top_k: int = 50,
        *,
        metadata_filter: FilterInput | None = None,
        mode: SearchMode | str = SearchMode.SEMANTIC,
        timeout: float | None = None,
    ) -> list[MemoryChunk]:
        """Finds episodes, best first.

        Args:
            query: What to look for, at most 8 KiB.
            user_id: Only that user's.
            visibility: Only that one; `org` ignores the user of the ambient context; `readable`: the user's own and
                all that is shared.
            session_id: Only of that session; taken from this call alone, for most episodes have none.
            top_k: How many, 1 to 200.
            metadata_filter: Only those that meet it: see `ricordo.filters`.
            mode: How to look.
            timeout: Seconds.
        """
        reading = self._reading(visibility, user_id=user_id, session_id=session_id, own_session_only=True)
        condition = parse(metadata_filter, MEMORY_FIELDS)
        search = facade.SourceSearch(ContextSource.EPISODIC, reading.scope(session=True), condition)
        return await self._find(query, search, reading.visibility, top_k=top_k, mode=mode, timeout=timeout)

    async def list_episodes(
        self,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        session_id: str | None = None,
        limit: int = 20,
        *,
        metadata_filter: FilterInput | None = None,
        timeout: float | None = None,
    ) -> list[models.EpisodicEntry]:
        """Lists episodes, newest first.

        Args:
            user_id: Only that user's.
            visibility: Only that one; `org` ignores the user of the ambient context; `readable`: the user's own and
                all that is shared.
            session_id: Only of that session; taken from this call alone, for most episodes have none.
            limit: How many at most.
            metadata_filter: Only those that meet it: see `ricordo.filters`.
            timeout: Seconds for each 1,000 of them.
        """
        reading = self._reading(visibility, user_id=user_id, session_id=session_id, own_session_only=True)
        found = await self._list(
            MemoryKind.EPISODIC,
            reading,
            timeout,
            limit=facade.check_count(limit, "limit"),
            filters=metadata_filter,
            session=True,
        )
        return [episodic_entry(memory) for memory in found]

    async def update_episode(
        self,
        memory_id: str,
        *,
        title: str | None = None,
        content: str | None = None,
        summary: str | None = None,
        participants: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        visibility: Visibility | str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        timeout: float | None = None,
    ) -> models.EpisodicEntry:
        """Changes what is given of one of the user's episodes, and writes a revision.

        The arguments are those of `save_episode`; the session of an episode stays.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such episode.
            RevisionMismatchError: Somebody else changed it meanwhile: try again.
        """
        changes = facade.changes_of(
            title=title,
            content=content,
            tags=facade.texts(tags, "tags"),
            visibility=visibility,
            metadata=metadata,
            agent_id=agent_id,
        )
        names = facade.texts(participants, "participants")
        memory = await self._own("update_episode", MemoryKind.EPISODIC, memory_id, user_id, timeout)
        return episodic_entry(
            await self._change(memory, changes, timeout, summary=summary, participants=names)
        )

    async def delete_episode(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        purge: bool = False,
        timeout: float | None = None,
    ) -> models.DeleteResult:
        """Deletes one of the user's episodes: as `delete_semantic`.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such episode.
        """
        return await self._delete(
            "delete_episode", MemoryKind.EPISODIC, memory_id, user_id, timeout, purge=purge
        )
