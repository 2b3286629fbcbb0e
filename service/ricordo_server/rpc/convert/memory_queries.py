"""What a call asks of memories: which one, and which ones."""

from typing import Any

from ricordo.v1 import memory_service_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.filter_fields import MEMORY_FIELDS
from ricordo_server.domain.memory import MemoryKey, MemoryQuery
from ricordo_server.domain.scope import EVERY_SCOPE
from ricordo_server.domain.taxonomy import Domain, DomainQuery
from ricordo_server.rpc.checks import MEMORY_ID, check_pattern, check_type_names
from ricordo_server.rpc.convert.filters import decode_condition
from ricordo_server.rpc.convert.memories import decode_custom_type, decode_kind, decode_kinds
from ricordo_server.rpc.convert.memory_details import decode_taxonomic
from ricordo_server.rpc.convert.memory_keys import decode_key
from ricordo_server.rpc.convert.scope import decode_scope_filter, decode_visibility

pb = memory_service_pb2


def decode_selector(request: pb.GetMemoryRequest) -> str | MemoryKey:
    match request.WhichOneof("selector"):
        case "memory_id":
            return decode_id(request.memory_id, "memory_id")
        case "memory_key":
            return decode_memory_key(request.memory_key)
        case _:
            raise invalid_field("selector", "say which memory: memory_id or memory_key")


def decode_memory_key(message: pb.MemoryKey) -> MemoryKey:
    kind = decode_kind(message.kind, "memory_key.kind")
    if kind is None:
        raise invalid_field("memory_key.kind", "kind is required")
    details = (
        decode_taxonomic(message.taxonomic, "memory_key.taxonomic") if message.HasField("taxonomic") else None
    )
    key = decode_key(kind, message.key, details, "memory_key.key")
    if key is None:
        raise invalid_field("memory_key.key", "key is required")
    custom_type = decode_custom_type(message.custom_type, kind, "memory_key.custom_type")
    return MemoryKey(kind, key, custom_type, decode_scope_filter(message.scope, "memory_key.scope"))


def decode_query(request: Any, *, include_deleted: bool = False) -> MemoryQuery:
    """Of ListMemories and SearchMemories: they ask the same of a memory."""
    return MemoryQuery(
        scope=decode_scope_filter(request.scope),
        visibility=decode_visibility(request.visibility),
        kinds=decode_kinds(request.kinds),
        custom_types=check_type_names("custom_types", request.custom_types),
        filter=decode_condition(request, MEMORY_FIELDS),
        include_deleted=include_deleted,
    )


def decode_deletion(request: pb.DeleteMemoriesRequest) -> MemoryQuery:
    """A deletion says which: nobody empties a store by leaving a field out."""
    query = decode_query(request)
    says_which = (query.scope != EVERY_SCOPE, query.visibility, query.kinds, query.custom_types, query.filter)
    if not any(says_which):
        raise invalid_field(
            "filter", "say which memories: a scope, kinds or a filter; all of a store go with it"
        )
    return query


def decode_id(value: str, field: str) -> str:
    return check_pattern(field, value, MEMORY_ID)


def decode_expected(request: Any) -> int | None:
    return request.expected_revision if request.HasField("expected_revision") else None


def decode_domain_query(request: pb.ListDomainsRequest) -> DomainQuery:
    return DomainQuery(decode_scope_filter(request.scope), decode_visibility(request.visibility))


def encode_domain(domain: Domain) -> pb.Domain:
    return pb.Domain(name=domain.name, term_count=domain.term_count)
