"""Of a distilled document the lines go that rest on deleted turns alone, and every revision that shows them."""

from collections.abc import Sequence
from dataclasses import replace

from ricordo_server.db import attributes as attributes_db
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db import revisions as revisions_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.sources import Quotation, copy_sources, list_document_quotations
from ricordo_server.domain.documents import lines_of, without_lines
from ricordo_server.domain.forgetting import Forgetting
from ricordo_server.domain.memory import Memory, RevisionAction


async def forget_lines(connection: TenantConnection, turn_ids: Sequence[str]) -> dict[str, Forgetting]:
    """Takes the lines out of the documents; what is to become of each document and its history, by id."""
    quotations = await list_document_quotations(connection, turn_ids)
    if not quotations:
        return {}
    documents = await memories_db.get_memories(connection, list(quotations), include_deleted=True)
    going = set(turn_ids)
    return {
        memory_id: await _forget(connection, documents.get(memory_id), found, going)
        for memory_id, found in quotations.items()
    }


async def _forget(
    connection: TenantConnection, document: Memory | None, quotations: Sequence[Quotation], going: set[str]
) -> Forgetting:
    shown = sorted({each.revision for each in quotations if each.turn_id in going})
    if document is None or document.delete_time is not None:  # expired, or deleted before: it goes for good
        return Forgetting(purge=True)
    content = without_lines(document.content, _lost_lines(document, quotations, going))
    if content == document.content:
        return Forgetting(remove=[revision for revision in shown if revision != document.revision])
    if not lines_of(content):
        return Forgetting(purge=True)
    await _rewrite(connection, document, content, going)
    return Forgetting(remove=shown)


def _lost_lines(document: Memory, quotations: Sequence[Quotation], going: set[str]) -> set[str]:
    """What the document says as it is that stands on no whole ground any more."""
    current = [each for each in quotations if each.revision == document.revision]
    broken = {each.ground for each in current if each.turn_id in going}
    lost: set[str] = set()
    kept: set[str] = set()
    for each in current:
        (lost if each.ground in broken else kept).update(each.quote.split("\n"))
    return lost - kept


async def _rewrite(connection: TenantConnection, document: Memory, content: str, going: set[str]) -> None:
    """Housekeeping embeds it anew: no model is waited for while rows are locked. No quota stands in the way."""
    named = [turn_id for turn_id in document.provenance.turn_ids if turn_id not in going]
    changes = {"content": content, "provenance": replace(document.provenance, turn_ids=named)}
    written = await memories_db.restore_memory(connection, document.memory_id, changes, document.revision)
    if written is None:
        return
    await attributes_db.write_attributes(connection, [written])
    await revisions_db.write_revisions(connection, [document.memory_id], RevisionAction.UPDATED)
    await usage_db.count_memories(connection, [document.memory_id], created=False)
    await copy_sources(connection, document.memory_id, document.revision, written.revision)
    await vectors_db.drop_memory_vectors(connection, document.memory_id)
