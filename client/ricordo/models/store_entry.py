"""Entries of a memory store: documents that agents keep under a path."""

from datetime import datetime

from ricordo.models.base import MemoryKind, Model, Word


class EntrySource(Word):
    """Who wrote an entry: an agent or its user, or a pipeline that distils sessions."""

    AGENT = "agent"
    DREAMER = "dreamer"


class StoreEntry(Model):
    """An entry. Within a store it is identified by actor, session and path; an empty session is none.

    `name` is "memory-stores/<store>/entries/<entry_id>". `content` is None where it was not asked for. Times are UTC.
    What is `pinned` no pipeline changes or deletes.
    `kind` is `document` for what was written as an entry.
    """

    name: str
    entry_id: str
    actor_id: str
    session_id: str
    path: str
    content: str | None
    description: str
    source_type: EntrySource
    kind: MemoryKind
    revision: int
    pinned: bool = False
    create_time: datetime
    update_time: datetime

    @property
    def id(self) -> str:
        """The same as `entry_id`."""
        return self.entry_id
