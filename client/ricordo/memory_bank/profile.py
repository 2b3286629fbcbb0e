"""Structured profiles: their schemas, and what is known by them."""

from typing import Any, Self

from pydantic import AliasChoices, Field, model_validator

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.value import MemoryType


class StructuredMemorySchemaConfig(BankModel):
    """What is to be known: a schema of an object whose properties are the fields, as JSON Schema or OpenAPI has it.

    `id`: `^[a-z][a-z0-9-]{0,62}$`. `memory_schema` may be written `schema`.
    """

    id: str
    json_schema: dict[str, Any] | None = None
    memory_schema: dict[str, Any] | None = Field(
        default=None, validation_alias=AliasChoices("memory_schema", "memorySchema", "schema")
    )
    memory_type: MemoryType = MemoryType.STRUCTURED_PROFILE

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.json_schema is None) == (self.memory_schema is None):
            raise ValueError("give json_schema or memory_schema")
        if self.memory_type is not MemoryType.STRUCTURED_PROFILE:
            raise ValueError("memory_type is STRUCTURED_PROFILE: facts in natural language have no schema")
        return self


class StructuredMemoryConfig(BankModel):
    """Schemas for scopes that hold all of `scope_keys`; without keys, for every scope."""

    scope_keys: list[str] = Field(default_factory=list)
    schema_configs: list[StructuredMemorySchemaConfig] = Field(min_length=1)


class MemoryProfile(BankModel):
    """What is known by one schema: values by field."""

    schema_id: str
    profile: dict[str, Any]


class RetrieveProfilesResponse(BankModel):
    """The profiles of a scope, by schema."""

    profiles: dict[str, MemoryProfile] = Field(default_factory=dict)
