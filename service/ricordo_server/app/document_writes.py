"""Documents that a pipeline writes, inside the transaction of whoever calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ricordo_server.app.lifetimes import prolonged, with_expiry
from ricordo_server.app.memory_writes import insert_drafts
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sources import Source, add_sources, copy_sources
from ricordo_server.domain.consolidation import Trust, trust_of
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.generation import Learned
from ricordo_server.domain.memory import (
    Memory,
    MemoryDraft,
    MemoryKind,
    MemorySource,
    Provenance,
    RevisionAction,
)
from ricordo_server.domain.retention import Write


@dataclass(frozen=True)
class DocumentEdit:
    """What a document is to say. `document` is as it was read; None of one that is new."""

    path: str
    document: Memory | None
    content: str
    sources: Sequence[Source] = ()


async def write_edits(
    connection: TenantConnection, learned: Learned, edits: Sequence[DocumentEdit]
) -> list[Memory]:
    """The documents as they are now, in the order of the edits.

    Raises:
        DomainError: WRITE_CONFLICT when one is not as it was read.
    """
    written = []
    for edit in edits:
        if edit.document is None:
            written.append(await create_document(connection, _draft(learned, edit)))
        else:
            written.append(await change_document(connection, edit.document, edit.content))
    await add_sources(
        connection, [(memory, edit.sources) for memory, edit in zip(written, edits, strict=True)]
    )
    return written


def _draft(learned: Learned, edit: DocumentEdit) -> MemoryDraft:
    """Its trust is that of whom it rests on first: nothing trusted less changes a line of it."""
    trust = max((trust_of([source.role]) for source in edit.sources), key=list(Trust).index)
    return MemoryDraft(
        MemoryKind.DOCUMENT,
        edit.content,
        key=edit.path,
        scope=learned.scope,
        source=MemorySource.EXTRACTION,
        provenance=Provenance(
            session_id=learned.origin.session_id,
            extraction_model=learned.model,
            prompt_version=learned.prompt_version,
            trust=trust,
        ),
    )


async def create_document(connection: TenantConnection, draft: MemoryDraft) -> Memory:
    [outcome] = await insert_drafts(connection, [(with_expiry(connection, draft, Write.GENERATED), {})])
    if isinstance(outcome, DomainError):
        raise _changed_meanwhile()
    return outcome


async def change_document(connection: TenantConnection, document: Memory, content: str) -> Memory:
    """With other content, as a new revision that rests on what the one before did; as it is, if that says it."""
    if content == document.content:
        current = await memories_db.get_memories(connection, [document.memory_id])
        if document.memory_id not in current or current[document.memory_id].revision != document.revision:
            raise _changed_meanwhile()
        return document
    changes = prolonged(connection, {"content": content}, Write.REGENERATED)
    updated = await memories_db.update_memory(connection, document.memory_id, changes, document.revision)
    if updated is None:
        raise _changed_meanwhile()
    await keep_revisions(connection, [document.memory_id], RevisionAction.UPDATED)
    await copy_sources(connection, document.memory_id, document.revision, updated.revision)
    await vectors_db.drop_memory_vectors(connection, document.memory_id)
    return replace(updated, has_embedding=False)


def _changed_meanwhile() -> DomainError:
    return DomainError(Reason.WRITE_CONFLICT, "a document changed while it was compared: try again")
