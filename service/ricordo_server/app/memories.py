"""Memories: their rules and transactions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from uuid_utils.compat import uuid7

from ricordo_server.app import embeddings
from ricordo_server.app.declarations import check_query_declared, declare_changes, declare_draft, hold_for
from ricordo_server.app.lifetimes import prolonged, store_expire_time, with_expiry
from ricordo_server.app.memory_rules import check_details, check_written
from ricordo_server.app.memory_writes import insert_drafts, mark_deleted
from ricordo_server.app.permissions import (
    check_may_publish,
    check_may_read_as,
    check_may_write,
    check_may_write_in,
    denied,
)
from ricordo_server.app.profiles import check_profile
from ricordo_server.app.revisions import check_revision, revision_not_found
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.app.usage import keep_revisions
from ricordo_server.db import attributes as attributes_db
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import idempotency
from ricordo_server.db import memories as memories_db
from ricordo_server.db import revisions as revisions_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.projects import hold_settings
from ricordo_server.db.sources import copy_sources
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.memory import (
    ATTRIBUTE_FIELDS,
    EMBEDDED_FIELDS,
    Memory,
    MemoryChanges,
    MemoryDraft,
    MemoryKey,
    MemoryQuery,
    MemoryRevision,
    RevisionAction,
    embedded_text,
)
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.retention import RevisionOptions, Write
from ricordo_server.domain.scope import Exactly, Visibility, named_user


@dataclass(frozen=True)
class PutMemoryResult:
    memory: Memory
    created: bool


async def create_memory(
    services: Services, call: Call, store_id: str, draft: MemoryDraft, options: RevisionOptions
) -> Memory:
    """Writes a new memory.

    Raises:
        DomainError: KEY_TAKEN, ID_TAKEN, PERMISSION_DENIED, STORE_NOT_FOUND; INVALID_FIELD or UNKNOWN_CUSTOM_TYPE
            for what the project declares otherwise.
    """
    check_draft(call, draft, "memory")
    [vectors] = await embeddings.embed_documents(services, call, [embedded_text(draft)])

    async def work(connection: TenantConnection) -> Memory:
        connection = await hold_for(connection, [draft])
        declared = _admitted(connection, draft)
        [outcome] = await insert_drafts(connection, [(declared, vectors)], options)
        if isinstance(outcome, DomainError):
            raise outcome
        return outcome

    return await write_store(services.database, call, store_id, work)


async def batch_create_memories(
    services: Services,
    call: Call,
    store_id: str,
    drafts: Sequence[MemoryDraft | DomainError],
    options: RevisionOptions,
    *,
    atomic: bool,
) -> list[Memory | DomainError]:
    """Writes the drafts that can be written; those the edge refused come as their errors.

    Raises:
        DomainError: with `atomic`, the first item's error, its number under `index`; nothing is written.
    """
    checked = [_checked(call, draft, number) for number, draft in enumerate(drafts)]
    if atomic:
        _raise_first(checked)
    sound = {number: draft for number, draft in enumerate(checked) if isinstance(draft, MemoryDraft)}
    vectors = await embeddings.embed_documents(
        services, call, [embedded_text(draft) for draft in sound.values()]
    )
    own = dict(zip(sound, vectors, strict=True))

    async def work(connection: TenantConnection) -> list[Memory | DomainError]:
        connection = await hold_for(connection, sound.values())
        declared = [_declared(connection, item, number) for number, item in enumerate(checked)]
        if atomic:
            _raise_first(declared)
        drafts = [
            (draft, own[number]) for number, draft in enumerate(declared) if isinstance(draft, MemoryDraft)
        ]
        inserted = iter(await insert_drafts(connection, drafts, options))
        outcomes = [
            _of_item(next(inserted), number) if isinstance(item, MemoryDraft) else item
            for number, item in enumerate(declared)
        ]
        if atomic:
            _raise_first(outcomes)
        return outcomes

    return await write_store(services.database, call, store_id, work)


def _declared(
    connection: TenantConnection, item: MemoryDraft | DomainError, number: int
) -> MemoryDraft | DomainError:
    if isinstance(item, MemoryDraft):
        try:
            return _admitted(connection, item, f"memories[{number}]")
        except DomainError as error:
            return error
    return item


def _admitted(connection: TenantConnection, draft: MemoryDraft, field: str = "memory") -> MemoryDraft:
    """The draft as it is to be stored, if the project lets this principal write it."""
    check_may_publish(connection, draft.visibility, f"{field}.visibility")
    check_profile(connection, draft, field)
    return with_expiry(connection, declare_draft(connection.settings, draft, field), Write.CREATED)


def check_draft(call: Call, draft: MemoryDraft, field: str) -> None:
    check_may_write_in(call.principal, draft.scope, f"{field}.scope")
    if draft.memory_id is not None and not call.principal.may_name_any_user:
        raise denied("an end user's credential may not choose ids", field=f"{field}.memory_id")


def _checked(call: Call, draft: MemoryDraft | DomainError, number: int) -> MemoryDraft | DomainError:
    if isinstance(draft, MemoryDraft):
        try:
            check_draft(call, draft, f"memories[{number}]")
        except DomainError as error:
            return error
    return draft


def _of_item(outcome: Memory | DomainError, number: int) -> Memory | DomainError:
    """The field of an error is the item's."""
    if isinstance(outcome, DomainError):
        return replace(outcome, field=outcome.field.replace("memory", f"memories[{number}]", 1))
    return outcome


def _raise_first(items: Sequence[object]) -> None:
    for number, item in enumerate(items):
        if isinstance(item, DomainError):
            raise replace(item, metadata={**(item.metadata or {}), "index": str(number)})


async def put_memory(
    services: Services,
    call: Call,
    store_id: str,
    draft: MemoryDraft,
    fields: Sequence[str],
    options: RevisionOptions,
    *,
    append: bool,
    expected_revision: int | None,
) -> PutMemoryResult:
    """Creates the memory, or changes `fields` of the live row with its key.

    Raises:
        DomainError: REVISION_MISMATCH, LIMIT_EXCEEDED (appended beyond the limit), PERMISSION_DENIED.
    """
    check_draft(call, draft, "memory")

    async def work(connection: TenantConnection) -> PutMemoryResult:
        # Held whatever the draft has: the row that is there may have metadata, and change its visibility.
        connection = await hold_settings(connection)
        written = await memories_db.put_memory(
            connection,
            draft.memory_id or str(uuid7()),
            _admitted(connection, draft),
            fields,
            append=append,
            expected_revision=expected_revision,
            prolong_to=store_expire_time(connection, Write.CHANGED),
        )
        if written is None:
            return PutMemoryResult(await _unchanged(connection, draft, expected_revision), created=False)
        await attributes_db.write_attributes(connection, [written])
        created = written.revision == 1
        if created and expected_revision:
            check_revision(0, expected_revision, "memory")
        check_written(written)
        check_profile(connection, written)
        action = RevisionAction.CREATED if created else RevisionAction.UPDATED
        await keep_revisions(connection, [written.memory_id], action, options)
        await vectors_db.drop_memory_vectors(connection, written.memory_id)
        return PutMemoryResult(written, created)

    written = await write_store(services.database, call, store_id, work)
    answer = partial(PutMemoryResult, created=written.created)
    return answer(await embeddings.complete_vectors(services, call, store_id, written.memory, answer))


async def _unchanged(connection: TenantConnection, draft: MemoryDraft, expected: int | None) -> Memory:
    """The row that a put left alone, when leaving it alone was right."""
    key = MemoryKey(draft.kind, draft.key or "", draft.custom_type, Exactly(draft.scope))
    current = await memories_db.get_memory_by_key(connection, key, owners=())
    if current is None:
        raise DomainError(Reason.WRITE_CONFLICT, "the memory changed meanwhile: try again")
    check_revision(current.revision, expected, "memory")
    return current


async def update_memory(
    services: Services,
    call: Call,
    store_id: str,
    memory_id: str,
    changes: MemoryChanges,
    options: RevisionOptions,
    *,
    expected_revision: int | None,
) -> Memory:
    """Changes the fields given and writes a revision.

    Raises:
        DomainError: MEMORY_NOT_FOUND, REVISION_MISMATCH, PERMISSION_DENIED, INVALID_FIELD (details of
            another kind).
    """
    check_may_write(call.principal)
    changes_attributes = not changes.keys().isdisjoint(ATTRIBUTE_FIELDS)

    async def work(connection: TenantConnection) -> Memory:
        if changes.get("visibility") is Visibility.PROJECT:
            check_may_publish(connection, Visibility.PROJECT, "memory.visibility")
        if "details" in changes:
            current = await memories_db.get_memories(connection, [memory_id])
            check_details(current.get(memory_id), changes["details"])
        if changes_attributes:
            connection = await hold_settings(connection)
        declared = await declare_changes(connection, memory_id, changes)
        lasting = prolonged(connection, declared, Write.CHANGED)
        written = await memories_db.update_memory(connection, memory_id, lasting, expected_revision)
        if written is None:
            raise await why_untouched(connection, memory_id, expected_revision)
        check_written(written)
        check_profile(connection, written)
        if changes_attributes:
            await attributes_db.write_attributes(connection, [written])
        await keep_revisions(connection, [memory_id], RevisionAction.UPDATED, options)
        if "content" not in changes:  # it still is what the turns said
            await copy_sources(connection, memory_id, written.revision - 1, written.revision)
        if EMBEDDED_FIELDS.intersection(changes):
            await vectors_db.drop_memory_vectors(connection, memory_id)
            return embeddings.marked(written, connection.embedding_model, {})
        if "visibility" in changes:
            await vectors_db.set_vector_visibility(connection, memory_id, written.visibility)
        return written

    written = await write_store(services.database, call, store_id, work)
    return await embeddings.complete_vectors(services, call, store_id, written, lambda memory: memory)


async def why_untouched(
    connection: TenantConnection, memory_id: str, expected: int | None, *, include_deleted: bool = False
) -> DomainError:
    found = await memories_db.get_memories(connection, [memory_id], include_deleted=include_deleted)
    current = found.get(memory_id)
    if current is None:
        return not_found(memory_id)
    check_revision(current.revision, expected, "memory")
    return denied("this credential may read this memory but not change it", field="memory_id")


def not_found(memory_id: str) -> DomainError:
    return DomainError(
        Reason.MEMORY_NOT_FOUND, f"there is no memory {memory_id!r} to be seen here", "memory_id"
    )


async def delete_memory(
    services: Services,
    call: Call,
    store_id: str,
    memory_id: str,
    *,
    purge: bool,
    expected_revision: int | None,
) -> None:
    """Marks a memory deleted, or removes it with its revisions and vectors.

    Raises:
        DomainError: MEMORY_NOT_FOUND, REVISION_MISMATCH, PERMISSION_DENIED.
    """
    check_may_write(call.principal)

    async def work(connection: TenantConnection) -> None:
        if purge:
            await usage_db.discount_memory(connection, memory_id)
            done: object = await memories_db.purge_memory(connection, memory_id, expected_revision)
            await idempotency.forget_answers(connection, memory_id)
        else:
            done = await mark_deleted(connection, memory_id, expected_revision)
        if not done:
            raise await why_untouched(connection, memory_id, expected_revision, include_deleted=purge)

    await write_store(services.database, call, store_id, work)


async def get_memory(
    services: Services, call: Call, store_id: str, selector: str | MemoryKey, *, include_deleted: bool
) -> Memory:
    """Reads by id or by key.

    Raises:
        DomainError: MEMORY_NOT_FOUND.
    """
    async with in_store(services.database, call, store_id) as connection:
        if isinstance(selector, MemoryKey):
            check_may_read_as(call.principal, selector.scope)
            user_id = named_user(selector.scope)
            owners = [user_id] if user_id else list(call.principal.user_ids)
            found = await memories_db.get_memory_by_key(
                connection, selector, owners, include_deleted=include_deleted
            )
            name = selector.key
        else:
            by_id = await memories_db.get_memories(connection, [selector], include_deleted=include_deleted)
            found, name = by_id.get(selector), selector
    if found is None:
        raise not_found(name)
    return found


async def list_memories(
    services: Services,
    call: Call,
    store_id: str,
    query: MemoryQuery,
    order_by: Sequence[OrderBy],
    page: PageRequest,
) -> Page[Memory]:
    check_may_read_as(call.principal, query.scope)
    async with in_store(services.database, call, store_id) as connection:
        check_query_declared(connection.settings, query)
        return await memories_db.list_memories(connection, query, order_by, page)


async def list_memory_revisions(
    services: Services,
    call: Call,
    store_id: str,
    memory_id: str,
    labels: Mapping[str, str],
    page: PageRequest,
) -> Page[MemoryRevision]:
    """Those with all of the labels, newest first; of a deleted memory too.

    Raises:
        DomainError: MEMORY_NOT_FOUND.
    """
    async with in_store(services.database, call, store_id) as connection:
        found = await revisions_db.list_revisions(connection, memory_id, labels, page)
        if not found.items and page.after is None:
            known = await memories_db.get_memories(connection, [memory_id], include_deleted=True)
            if not known:
                raise not_found(memory_id)
        return found


async def get_memory_revision(
    services: Services, call: Call, store_id: str, memory_id: str, revision: int
) -> MemoryRevision:
    async with in_store(services.database, call, store_id) as connection:
        found = await revisions_db.get_revision(connection, memory_id, revision)
    if found is None:
        raise revision_not_found(memory_id, revision)
    return found
