"""Profiles: what may be written of them, and how they are read."""

from ricordo_server.app.permissions import check_may_read_as
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.profiles import list_profile_memories
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.memory import Memory, MemoryDraft, ProfileDetails, made_key
from ricordo_server.domain.profile_schema import Profile, ProfileField, ProfileSchema, ProfileSchemaError
from ricordo_server.domain.scope import Exactly, Scope


def check_profile(connection: TenantConnection, written: Memory | MemoryDraft, field: str = "memory") -> None:
    """A field of a profile is of a schema that there is, and holds what it allows; without any schema all goes.

    Raises:
        DomainError: INVALID_FIELD.
    """
    details = written.details
    if not isinstance(details, ProfileDetails) or not connection.profile_schemas:
        return
    schemas = {schema.schema_id: schema for schema in connection.profile_schemas_for(written.scope)}
    if details.schema_id not in schemas:
        message = (
            f"no schema {details.schema_id!r} is for this scope; there are: {', '.join(schemas) or 'none'}"
        )
        raise invalid_field(f"{field}.profile.schema_id", message)
    schema = schemas[details.schema_id]
    place = "content" if details.field_name in schema.properties else "profile.field_name"
    try:
        schema.value_of(details.field_name, written.content)
    except ProfileSchemaError as fault:
        raise invalid_field(f"{field}.{place}", str(fault)) from fault


async def retrieve_profiles(services: Services, call: Call, store_id: str, scope: Scope) -> list[Profile]:
    """One for each schema that is for the scope, in the order of the settings."""
    check_may_read_as(call.principal, Exactly(scope))
    async with in_store(services.database, call, store_id) as connection:
        return await read_profiles(connection, scope)


async def read_profiles(connection: TenantConnection, scope: Scope) -> list[Profile]:
    schemas = connection.profile_schemas_for(scope)
    keys = [made_key(schema.schema_id, name) for schema in schemas for name in schema.properties]
    memories = await list_profile_memories(connection, scope, keys) if keys else []
    by_key = {memory.key: memory for memory in memories}
    return [_profile(schema, by_key) for schema in schemas]


def _profile(schema: ProfileSchema, by_key: dict[str | None, Memory]) -> Profile:
    """What the schema does not allow by now is left out."""
    fields: dict[str, ProfileField] = {}
    for name in schema.properties:
        memory = by_key.get(made_key(schema.schema_id, name))
        if memory is None:
            continue
        try:
            value = schema.value_of(name, memory.content)
        except ProfileSchemaError:
            continue
        fields[name] = ProfileField(value, memory.memory_id, memory.revision, memory.update_time)
    return Profile(schema, fields)
