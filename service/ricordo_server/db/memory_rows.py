"""Memories to columns and back: the one place that knows how a memory is stored."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from psycopg.types.json import Jsonb

from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.rows import scope_columns, scope_from
from ricordo_server.domain.memory import (
    CHANGEABLE_FIELDS,
    DETAILS_OF_KIND,
    CustomDetails,
    Details,
    Memory,
    MemoryDraft,
    MemoryKind,
    MemoryRevision,
    MemorySource,
    ProfileDetails,
    Provenance,
    RevisionAction,
)
from ricordo_server.domain.metadata import decode_metadata, encode_metadata
from ricordo_server.domain.scope import Scope, Visibility


def memory_columns(connection: TenantConnection, memory_id: str, draft: MemoryDraft) -> dict[str, Any]:
    """Every column that a new memory sets."""
    return {
        **connection.key,
        **scope_columns(draft.scope),
        "memory_id": memory_id,
        "labels": Jsonb(dict(draft.scope.labels)),
        "kind": draft.kind,
        "custom_type": draft.custom_type,
        "key": draft.key,
        "provenance": changed_column("provenance", draft.provenance),
        "language": connection.language,
        **{name: changed_column(name, getattr(draft, name)) for name in CHANGEABLE_FIELDS},
    }


def changed_column(name: str, value: Any) -> Any:
    """The column's form of a field's value."""
    match name:
        case "metadata":
            return Jsonb(encode_metadata(value))
        case "details":
            return value and Jsonb(encode_details(value))
        case "provenance":
            return Jsonb({key: each for key, each in vars(value).items() if each})
        case "topics" | "tags":
            return list(value)
        case _:
            return value


def encode_details(details: Details) -> dict[str, Any]:
    match details:
        case CustomDetails(contextual_metadata):
            return {"contextual_metadata": encode_metadata(contextual_metadata)}
        case ProfileDetails(schema_id, field_name):
            return {"schema_id": schema_id, "field_name": field_name}
    return asdict(details)


def decode_details(kind: MemoryKind, stored: Mapping[str, Any] | None) -> Details | None:
    if stored is None:
        return None
    if kind is MemoryKind.CUSTOM:
        return CustomDetails(decode_metadata(stored["contextual_metadata"]))
    return DETAILS_OF_KIND[kind](**stored)


def memory_from(row: Row, connection: TenantConnection) -> Memory:
    kind = MemoryKind(row["kind"])
    scope = scope_from(row)
    details = decode_details(kind, row["details"])
    if isinstance(details, ProfileDetails):
        details = replace(details, content_is_json=_is_json(details, row["content"], scope, connection))
    return Memory(
        memory_id=row["memory_id"],
        store_id=connection.store_name,
        kind=kind,
        custom_type=row["custom_type"],
        key=row["key"],
        content=row["content"],
        title=row["title"],
        description=row["description"],
        scope=scope,
        agent_id=row["agent_id"],
        visibility=Visibility(row["visibility"]),
        metadata=decode_metadata(row["metadata"]),
        topics=row["topics"],
        tags=row["tags"],
        details=details,
        source=MemorySource(row["source"]),
        provenance=Provenance(**row["provenance"]),
        revision=row["revision"],
        create_time=row["create_time"],
        update_time=row["update_time"],
        event_time=row["event_time"],
        event_end_time=row["event_end_time"],
        expire_time=row["expire_time"],
        delete_time=row["delete_time"],
        pinned=row["pinned"],
        has_embedding=row["has_embedding"],
        embedding_model=connection.embedding_model.name if row["has_embedding"] else "",
    )


def _is_json(details: ProfileDetails, content: str, scope: Scope, connection: TenantConnection) -> bool:
    schemas = {schema.schema_id: schema for schema in connection.profile_schemas_for(scope)}
    schema = schemas.get(details.schema_id)
    return schema is not None and schema.holds_json(details.field_name, content)


def revision_from(row: Row, connection: TenantConnection) -> MemoryRevision:
    """A past revision has no embedding: semantic search finds memories as they are."""
    memory = memory_from({**row, "has_embedding": False}, connection)
    return MemoryRevision(
        memory,
        row["revision_time"],
        RevisionAction(row["action"]),
        row["revision_expire_time"],
        row["revision_labels"],
        row["extracted_memories"],
    )
