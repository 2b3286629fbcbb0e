"""A user's documents kept in order: none too long, and nothing said in two of them. What is pinned stays as it is."""

from collections.abc import Sequence
from itertools import islice

from ricordo_server.app.distillation import embed_generated, list_documents
from ricordo_server.app.document_plans import is_closed
from ricordo_server.app.document_writes import change_document, changed, create_document, created
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import write_store
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.consolidation import lock_consolidation
from ricordo_server.db.sources import copy_sources_to
from ricordo_server.domain.call import Call
from ricordo_server.domain.documents import (
    MOST_DOCUMENT_BYTES,
    parts_of,
    repeated_lines,
    split_document,
    without_lines,
)
from ricordo_server.domain.generation import GeneratedMemory, Generation
from ricordo_server.domain.memory import Memory, MemoryDraft, MemoryKind, MemorySource
from ricordo_server.domain.scope import Scope


async def maintain(services: Services, call: Call, store_id: str, scope: Scope) -> Generation:
    """Takes from distilled documents the lines that another has too, and splits what is too long.

    Raises:
        DomainError: WRITE_CONFLICT, QUOTA_EXCEEDED.
    """

    async def work(connection: TenantConnection) -> Generation:
        await lock_consolidation(connection, scope, MemoryKind.DOCUMENT)
        trimmed = await _trim(connection, await list_documents(connection, scope))
        return trimmed + await _split(connection, await list_documents(connection, scope))

    written = await write_store(services.database, call, store_id, work)
    return await embed_generated(services, call, store_id, written)


async def _trim(connection: TenantConnection, documents: Sequence[Memory]) -> Generation:
    """Of two that say the same the older keeps it; what people and agents wrote loses nothing."""
    in_order = sorted(documents, key=lambda each: (not _keeps_all(each), each.create_time, each.memory_id))
    trimmed = []
    for document, repeated in zip(in_order, repeated_lines([each.content for each in in_order]), strict=True):
        if repeated and not _keeps_all(document):
            shorter = without_lines(document.content, repeated)
            trimmed.append(changed(document, await change_document(connection, document, shorter)))
    return Generation(trimmed)


def _keeps_all(document: Memory) -> bool:
    return is_closed(document) or document.source is not MemorySource.EXTRACTION


async def _split(connection: TenantConnection, documents: Sequence[Memory]) -> Generation:
    taken = {document.key or "" for document in documents}
    written: list[GeneratedMemory] = []
    for document in documents:
        if is_closed(document) or len(document.content.encode()) <= MOST_DOCUMENT_BYTES:
            continue
        first, *others = split_document(document.content)
        free = (path for path in islice(parts_of(document.key or ""), 1, None) if path not in taken)
        parts = [
            await _part(connection, document, path, text) for path, text in zip(free, others, strict=False)
        ]
        taken.update(part.key or "" for part in parts)
        if parts:
            kept = await change_document(connection, document, first)
            written += [changed(document, kept), *map(created, parts)]
    return Generation(written)


async def _part(connection: TenantConnection, document: Memory, path: str, text: str) -> Memory:
    """What a part rests on is what the whole did."""
    names = (
        "title",
        "description",
        "scope",
        "agent_id",
        "metadata",
        "topics",
        "tags",
        "source",
        "provenance",
    )
    given = {name: getattr(document, name) for name in names}
    part = await create_document(connection, MemoryDraft(MemoryKind.DOCUMENT, text, key=path, **given))
    await copy_sources_to(connection, document, part)
    return part
