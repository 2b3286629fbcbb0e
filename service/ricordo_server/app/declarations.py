"""What a project declares, applied to the rows there are, to what is written and to what is asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ricordo_server.db import attributes as attributes_db
from ricordo_server.db import declarations as declarations_db
from ricordo_server.db import memories as memories_db
from ricordo_server.db import projects as projects_db
from ricordo_server.db.connection import ProjectConnection, TenantConnection, enter_store
from ricordo_server.domain.declarations import (
    check_custom_type,
    check_declared_filter,
    check_metadata,
    nest_tags,
)
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.filter import Filter
from ricordo_server.domain.memory import MemoryChanges, MemoryDraft, MemoryKind, MemoryQuery
from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.project_settings import MetadataType, ProjectSettings


async def apply_declarations(
    connection: ProjectConnection,
    before: ProjectSettings,
    after: ProjectSettings,
    *,
    force: bool,
) -> None:
    """Brings every store to what is declared now, in this one transaction.

    Raises:
        DomainError: METADATA_TYPE_CONFLICT, CUSTOM_TYPE_NOT_EMPTY (unless `force`).
    """
    new = {name: kind for name, kind in after.declared.items() if before.declared.get(name) is not kind}
    removed = [] if force else [name for name in before.types_by_name if name not in after.types_by_name]
    if not new and not removed:
        return
    known = [*before.declared, *after.declared]
    for name in await declarations_db.list_store_names(connection):
        store = await enter_store(connection, name)
        if removed:
            _refuse_left(store, await declarations_db.count_custom_memories(store, removed))
        if new:
            _refuse_conflicts(store, await declarations_db.count_conflicts(store, new), new)
            # Of a key that is taken away the rows go with a later change: a search may be under way that reads them.
            await attributes_db.drop_attributes(store, of_keys=list(new), unless=known)
            await attributes_db.index_memories(store, new)


def _refuse_left(store: TenantConnection, counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        raise DomainError(
            Reason.CUSTOM_TYPE_NOT_EMPTY,
            f"the store {store.store_name!r} holds {count} memories of the type {name!r}: delete them, or pass force",
            "force",
            {"custom_type": name, "count": str(count), "store_id": store.store_name},
        )


def _refuse_conflicts(
    store: TenantConnection, counts: Mapping[str, int], types: Mapping[str, MetadataType]
) -> None:
    for name, count in counts.items():
        raise DomainError(
            Reason.METADATA_TYPE_CONFLICT,
            f"{count} rows of the store {store.store_name!r} have a value under {name!r} that is no {types[name]}: "
            "correct them, or declare their type",
            "project.settings",
            {
                "key": name,
                "value_type": types[name],
                "count": str(count),
                "store_id": store.store_name,
            },
        )


async def hold_for(connection: TenantConnection, drafts: Iterable[MemoryDraft]) -> TenantConnection:
    """With the settings as they stay until the transaction ends, if the drafts could break what they declare."""
    if any(draft.metadata or draft.kind is MemoryKind.CUSTOM for draft in drafts):
        return await projects_db.hold_settings(connection)
    return connection


def declare_draft(settings: ProjectSettings, draft: MemoryDraft, field: str = "memory") -> MemoryDraft:
    """The draft with its metadata as the project declares it.

    Raises:
        DomainError: INVALID_FIELD, UNKNOWN_CUSTOM_TYPE.
    """
    metadata = _declared(settings, draft.kind, draft.custom_type, draft.metadata, field)
    return replace(draft, metadata=metadata)


def _declared(
    settings: ProjectSettings, kind: MemoryKind, custom_type: str, metadata: Metadata, field: str
) -> Metadata:
    if kind is MemoryKind.CUSTOM:
        metadata = nest_tags(settings, custom_type, metadata, field)
    check_metadata(settings, metadata, f"{field}.metadata")
    return metadata


async def declare_changes(
    connection: TenantConnection, memory_id: str, changes: MemoryChanges
) -> MemoryChanges:
    """The changes with their metadata as the project declares it; what is not to be seen is left to the update."""
    if "metadata" not in changes:
        return changes
    current = (await memories_db.get_memories(connection, [memory_id])).get(memory_id)
    if current is None:
        return changes
    metadata: Metadata = changes["metadata"]  # type: ignore[assignment]
    declared = _declared(connection.settings, current.kind, current.custom_type, metadata, "memory")
    return {**changes, "metadata": declared}


async def check_written(connection: TenantConnection, written: Mapping[str, Metadata]) -> None:
    """Metadata of turns and sessions, by its place in the request.

    Raises:
        DomainError: INVALID_FIELD.
    """
    if not any(written.values()):
        return
    held = await projects_db.hold_settings(connection)
    for field, metadata in written.items():
        check_metadata(held.settings, metadata, field)


def check_filter_declared(connection: TenantConnection, tree: Filter | None, field: str = "filter") -> None:
    """Raises DomainError: INVALID_FILTER."""
    if tree is not None:
        check_declared_filter(connection.settings, tree, field)


def check_query_declared(settings: ProjectSettings, query: MemoryQuery) -> None:
    """A read of memories names only what is declared, where it must be.

    Raises:
        DomainError: INVALID_FILTER, UNKNOWN_CUSTOM_TYPE.
    """
    if query.filter is not None:
        check_declared_filter(settings.of_types(query.custom_types), query.filter)
    check_custom_types(settings, query.custom_types, "custom_types")


def check_custom_types(settings: ProjectSettings, custom_types: Sequence[str], field: str) -> None:
    for number, name in enumerate(custom_types):
        check_custom_type(settings, name, f"{field}[{number}]")
