"""Documents that are distilled, inside the transaction of whoever calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ricordo_server.app.consolidation_writes import memory_of
from ricordo_server.app.lifetimes import prolonged, with_expiry
from ricordo_server.app.memory_writes import insert_drafts
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sources import Source, add_sources, copy_sources
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.generation import GeneratedMemory, Learned
from ricordo_server.domain.memory import (
    Memory,
    MemoryDraft,
    MemoryKind,
    MemorySource,
    Provenance,
    RevisionAction,
)
from ricordo_server.domain.retention import DEFAULT_OPTIONS, RevisionOptions, Write


@dataclass(frozen=True)
class DocumentEdit:
    """What a document is to say. `document` is as it was read; None of one that is new.

    `provenance` is of what it says anew, and has the trust of all that it says.
    """

    path: str
    document: Memory | None
    content: str
    sources: Sequence[Source]
    provenance: Provenance

    @property
    def changes(self) -> bool:
        """Whether the document does not say it already."""
        return self.document is None or self.content != self.document.content


async def write_edits(
    connection: TenantConnection,
    learned: Learned,
    edits: Sequence[DocumentEdit],
    options: RevisionOptions = DEFAULT_OPTIONS,
) -> list[GeneratedMemory]:
    """What was made and changed, in the order of the edits; one that says it already gets the sources alone.

    Raises:
        DomainError: WRITE_CONFLICT when one is not as it was read.
    """
    written = [await _write(connection, learned, edit, options) for edit in edits]
    rests = [(each.memory, edit.sources) for each, edit in zip(written, edits, strict=True)]
    await add_sources(connection, rests)
    return [each for each, edit in zip(written, edits, strict=True) if edit.changes]


async def _write(
    connection: TenantConnection, learned: Learned, edit: DocumentEdit, options: RevisionOptions
) -> GeneratedMemory:
    if edit.document is None:
        return created(await create_document(connection, _draft(learned, edit), options))
    document = await change_document(connection, edit.document, edit.content, edit.provenance, options)
    return changed(edit.document, document)


def preview_edits(
    connection: TenantConnection, learned: Learned, edits: Sequence[DocumentEdit]
) -> list[GeneratedMemory]:
    """What `write_edits` would answer. What would be new has no id and no revision yet."""
    now = datetime.now(UTC)
    return [_preview(connection, learned, edit, now) for edit in edits if edit.changes]


def _preview(
    connection: TenantConnection, learned: Learned, edit: DocumentEdit, now: datetime
) -> GeneratedMemory:
    if edit.document is None:
        return created(memory_of(connection, _draft(learned, edit), now))
    changes: Any = _changes(connection, edit.document, edit.content, edit.provenance)
    next_revision = edit.document.revision + 1
    return changed(edit.document, replace(edit.document, **changes, revision=next_revision, update_time=now))


def created(document: Memory) -> GeneratedMemory:
    return GeneratedMemory(document, RevisionAction.CREATED)


def changed(before: Memory, after: Memory) -> GeneratedMemory:
    return GeneratedMemory(after, RevisionAction.UPDATED, before.revision)


def _draft(learned: Learned, edit: DocumentEdit) -> MemoryDraft:
    return MemoryDraft(
        MemoryKind.DOCUMENT,
        edit.content,
        key=edit.path,
        scope=learned.scope,
        source=learned.source,
        provenance=edit.provenance,
    )


async def create_document(
    connection: TenantConnection, draft: MemoryDraft, options: RevisionOptions = DEFAULT_OPTIONS
) -> Memory:
    admitted = with_expiry(connection, draft, Write.GENERATED)
    [outcome] = await insert_drafts(connection, [(admitted, {})], options)
    if isinstance(outcome, DomainError):
        raise _changed_meanwhile()
    return outcome


async def change_document(
    connection: TenantConnection,
    document: Memory,
    content: str,
    provenance: Provenance | None = None,
    options: RevisionOptions = DEFAULT_OPTIONS,
) -> Memory:
    """With other content, as a new revision that rests on what the one before did; as it is, if that says it."""
    if content == document.content:
        current = await memories_db.get_memories(connection, [document.memory_id])
        if document.memory_id not in current or current[document.memory_id].revision != document.revision:
            raise _changed_meanwhile()
        return document
    changes = _changes(connection, document, content, provenance)
    updated = await memories_db.update_memory(connection, document.memory_id, changes, document.revision)
    if updated is None:
        raise _changed_meanwhile()
    await keep_revisions(connection, [document.memory_id], RevisionAction.UPDATED, options)
    await copy_sources(connection, document.memory_id, document.revision, updated.revision)
    await vectors_db.drop_memory_vectors(connection, document.memory_id)
    return replace(updated, has_embedding=False)


def _changes(
    connection: TenantConnection, document: Memory, content: str, provenance: Provenance | None
) -> dict[str, object]:
    """What people and agents wrote stays theirs, whatever of it is changed."""
    changes: dict[str, object] = {"content": content}
    if provenance is not None and document.source is MemorySource.EXTRACTION:
        changes["provenance"] = provenance
    return dict(prolonged(connection, changes, Write.REGENERATED))


def _changed_meanwhile() -> DomainError:
    return DomainError(Reason.WRITE_CONFLICT, "a document changed while it was compared: try again")
