"""The requests of MemoryService."""

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import details, enums, memories, paging, scopes
from ricordo._convert.filters import encode_condition
from ricordo._convert.sendable import sendable
from ricordo.errors import MemoryClientError
from ricordo.filters import MEMORY_FIELDS, FilterInput
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import search_pb2


@sendable
def create_request(
    memory: models.NewMemory,
    *,
    ttl: timedelta | None,
    revision_options: models.RevisionOptions | None,
    store: str | None,
    request_id: str | None,
) -> pb.CreateMemoryRequest:
    """Asks to write a new memory."""
    return pb.CreateMemoryRequest(
        store_id=store or "",
        memory=memories.encode_memory(memory, ttl=ttl),
        revision_options=memories.encode_revision_options(revision_options),
        request_id=paging.fresh(request_id),
    )


@sendable
def batch_create_request(
    batch: Iterable[models.NewMemory],
    *,
    atomic: bool,
    revision_options: models.RevisionOptions | None,
    store: str | None,
    request_id: str | None,
) -> pb.BatchCreateMemoriesRequest:
    """Asks to write several memories."""
    return pb.BatchCreateMemoriesRequest(
        store_id=store or "",
        memories=[memories.encode_memory(memory) for memory in batch],
        atomic=atomic,
        revision_options=memories.encode_revision_options(revision_options),
        request_id=paging.fresh(request_id),
    )


@sendable
def get_request(memory_id: str, *, include_deleted: bool, store: str | None) -> pb.GetMemoryRequest:
    """Asks for one memory by id."""
    return pb.GetMemoryRequest(store_id=store or "", memory_id=memory_id, include_deleted=include_deleted)


@sendable
def get_by_key_request(
    key: str | models.TaxonomicDetails,
    *,
    kind: models.MemoryKind | str,
    custom_type: str,
    scope: models.ScopeFilter | None,
    include_deleted: bool,
    store: str | None,
) -> pb.GetMemoryRequest:
    """Asks for one memory by kind, scope and key."""
    memory_key = pb.MemoryKey(
        kind=enums.MEMORY_KIND.encode(kind),
        custom_type=custom_type,
        key=key if isinstance(key, str) else "",
        taxonomic=None if isinstance(key, str) else details.encode_taxonomic(key),
        scope=scopes.encode_scope_filter(scope),
    )
    return pb.GetMemoryRequest(store_id=store or "", memory_key=memory_key, include_deleted=include_deleted)


@sendable
def list_domains_request(
    *,
    scope: models.ScopeFilter | None,
    visibility: models.Visibility | str | None,
    page_size: int | None,
    store: str | None,
) -> pb.ListDomainsRequest:
    """Asks for a page of domains."""
    return pb.ListDomainsRequest(
        store_id=store or "",
        scope=scopes.encode_scope_filter(scope),
        visibility=enums.VISIBILITY.encode(visibility),
        page_size=page_size,
    )


@sendable
def list_request(
    *,
    scope: models.ScopeFilter | None,
    visibility: models.Visibility | str | None,
    kinds: Collection[models.MemoryKind | str],
    custom_types: Collection[str],
    filters: FilterInput | None,
    include_deleted: bool,
    order_by: str,
    view: models.View | str,
    page_size: int | None,
    store: str | None,
) -> pb.ListMemoriesRequest:
    """Asks for a page of memories."""
    return pb.ListMemoriesRequest(
        store_id=store or "",
        scope=scopes.encode_scope_filter(scope),
        visibility=enums.VISIBILITY.encode(visibility),
        kinds=[enums.MEMORY_KIND.encode(kind) for kind in kinds],
        custom_types=custom_types,
        **encode_condition(filters, MEMORY_FIELDS),
        include_deleted=include_deleted,
        order_by=paging.encode_order(order_by),
        view=enums.VIEW.encode(view),
        page_size=page_size,
    )


@sendable
def update_request(
    memory_id: str,
    changes: models.MemoryChanges,
    *,
    ttl: timedelta | None,
    revision_options: models.RevisionOptions | None,
    expected_revision: int | None,
    store: str | None,
    request_id: str | None,
) -> pb.UpdateMemoryRequest:
    """Asks to change the fields that were given.

    Raises:
        MemoryClientError: None was given.
    """
    mask = memories.encode_changes_mask(changes, ttl)
    if not mask.paths:
        raise MemoryClientError(
            "update changes the fields that are given, and none is: MemoryChanges(content=...)"
        )
    return pb.UpdateMemoryRequest(
        store_id=store or "",
        memory=memories.encode_memory(changes, memory_id=memory_id, ttl=ttl),
        update_mask=mask,
        revision_options=memories.encode_revision_options(revision_options),
        expected_revision=expected_revision,
        request_id=paging.fresh(request_id),
    )


@sendable
def put_request(
    memory: models.NewMemory,
    *,
    update_mask: Collection[str],
    append: bool,
    ttl: timedelta | None,
    revision_options: models.RevisionOptions | None,
    expected_revision: int | None,
    store: str | None,
    request_id: str | None,
) -> pb.PutMemoryRequest:
    """Asks to create the memory, or to update the row of the same key."""
    return pb.PutMemoryRequest(
        store_id=store or "",
        memory=memories.encode_memory(memory, ttl=ttl),
        update_mask=FieldMask(paths=update_mask) if update_mask else None,
        append=append,
        revision_options=memories.encode_revision_options(revision_options),
        expected_revision=expected_revision,
        request_id=paging.fresh(request_id),
    )


@sendable
def delete_request(
    memory_id: str, *, purge: bool, expected_revision: int | None, store: str | None, request_id: str | None
) -> pb.DeleteMemoryRequest:
    """Asks to delete a memory."""
    return pb.DeleteMemoryRequest(
        store_id=store or "",
        memory_id=memory_id,
        purge=purge,
        expected_revision=expected_revision,
        request_id=paging.fresh(request_id),
    )


@sendable
def delete_matching_request(
    *,
    scope: models.ScopeFilter | None,
    visibility: models.Visibility | str | None,
    kinds: Collection[models.MemoryKind | str],
    custom_types: Collection[str],
    filters: FilterInput | None,
    force: bool,
    store: str | None,
    request_id: str | None,
) -> pb.DeleteMemoriesRequest:
    """Asks to delete the memories that match."""
    return pb.DeleteMemoriesRequest(
        store_id=store or "",
        scope=scopes.encode_scope_filter(scope),
        visibility=enums.VISIBILITY.encode(visibility),
        kinds=[enums.MEMORY_KIND.encode(kind) for kind in kinds],
        custom_types=custom_types,
        **encode_condition(filters, MEMORY_FIELDS),
        force=force,
        request_id=paging.fresh(request_id),
    )


@sendable
def move_request(
    memory_id: str, key: str, *, expected_revision: int | None, store: str | None, request_id: str | None
) -> pb.MoveMemoryRequest:
    """Asks to give a document another path."""
    return pb.MoveMemoryRequest(
        store_id=store or "",
        memory_id=memory_id,
        key=key,
        expected_revision=expected_revision,
        request_id=paging.fresh(request_id),
    )


@sendable
def search_request(
    options: search_pb2.SearchOptions,
    *,
    scope: models.ScopeFilter | None,
    visibility: models.Visibility | str | None,
    kinds: Collection[models.MemoryKind | str],
    custom_types: Collection[str],
    filters: FilterInput | None,
    include_embedding: bool,
    store: str | None,
) -> pb.SearchMemoriesRequest:
    """Asks for the memories that match best."""
    return pb.SearchMemoriesRequest(
        store_id=store or "",
        options=options,
        scope=scopes.encode_scope_filter(scope),
        visibility=enums.VISIBILITY.encode(visibility),
        kinds=[enums.MEMORY_KIND.encode(kind) for kind in kinds],
        custom_types=custom_types,
        **encode_condition(filters, MEMORY_FIELDS),
        include_embedding=include_embedding,
    )


@sendable
def list_revisions_request(
    memory_id: str, *, labels: Mapping[str, str], page_size: int | None, store: str | None
) -> pb.ListMemoryRevisionsRequest:
    """Asks for a page of the revisions of a memory."""
    return pb.ListMemoryRevisionsRequest(
        store_id=store or "", memory_id=memory_id, labels=labels, page_size=page_size
    )


@sendable
def get_revision_request(memory_id: str, revision: int, *, store: str | None) -> pb.GetMemoryRevisionRequest:
    """Asks for one revision of a memory."""
    return pb.GetMemoryRevisionRequest(store_id=store or "", memory_id=memory_id, revision=revision)


@sendable
def rollback_request(
    memory_id: str,
    target_revision: int,
    *,
    expected_revision: int | None,
    store: str | None,
    request_id: str | None,
) -> pb.RollbackMemoryRequest:
    """Asks to go back to a revision."""
    return pb.RollbackMemoryRequest(
        store_id=store or "",
        memory_id=memory_id,
        target_revision=target_revision,
        expected_revision=expected_revision,
        request_id=paging.fresh(request_id),
    )
