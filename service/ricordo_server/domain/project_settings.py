"""How a project works, as its administrators say; among it what they declare of metadata."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from ricordo_server.domain.context import ContextFormat
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.profile_schema import ProfileSchema
from ricordo_server.domain.retention import NO_RETENTION, Retention


class MetadataPolicy(StrEnum):
    OPEN = "OPEN"
    DECLARED = "DECLARED"


class MetadataType(StrEnum):
    STRING = "STRING"
    NUMBER = "NUMBER"
    BOOL = "BOOL"
    TIME = "TIME"


@dataclass(frozen=True)
class DeclaredKey:
    """A metadata key or a tag; a dot in its name walks into a map."""

    name: str
    value_type: MetadataType


@dataclass(frozen=True)
class CustomType:
    name: str
    tags: Sequence[DeclaredKey] = ()


@dataclass(frozen=True)
class ContextDefaults:
    """None: the server's own."""

    max_tokens: int | None = None
    format: ContextFormat | None = None
    top_k: int | None = None
    template: str | None = None


@dataclass(frozen=True)
class ProjectSettings:
    """`language` is None when the project does not set one."""

    language: str | None = None
    metadata_policy: MetadataPolicy = MetadataPolicy.OPEN
    metadata_keys: Sequence[DeclaredKey] = ()
    custom_types: Sequence[CustomType] = ()
    context: ContextDefaults = ContextDefaults()
    extraction: ExtractionPolicy = field(default_factory=ExtractionPolicy)
    end_users_may_publish: bool = False
    retention: Retention = NO_RETENTION
    profile_schemas: Sequence[ProfileSchema] = ()

    def declarations(self) -> Iterator[tuple[str, DeclaredKey]]:
        """Every metadata key and tag, with its place in a request."""
        for number, key in enumerate(self.metadata_keys):
            yield f"metadata_keys[{number}]", key
        for number, custom_type in enumerate(self.custom_types):
            for place, tag in enumerate(custom_type.tags):
                yield f"custom_types[{number}].tags[{place}]", tag

    @cached_property
    def declared(self) -> Mapping[str, MetadataType]:
        """The type of each declared name: it holds wherever the name stands in metadata."""
        return {key.name: key.value_type for _, key in self.declarations()}

    @cached_property
    def types_by_name(self) -> Mapping[str, CustomType]:
        return {custom_type.name: custom_type for custom_type in self.custom_types}

    def of_types(self, names: Sequence[str]) -> "ProjectSettings":
        """As a read of these custom types sees it: memories of declared ones hold declared names only."""
        known = [self.types_by_name[name] for name in names if name in self.types_by_name]
        return replace(self, metadata_policy=MetadataPolicy.DECLARED, custom_types=known) if known else self

    @property
    def closes_custom_types(self) -> bool:
        """Whether a custom type must be declared to be used."""
        return bool(self.custom_types) or self.metadata_policy is MetadataPolicy.DECLARED


DEFAULT_SETTINGS = ProjectSettings()

# New values by field name of ProjectSettings; of `extraction` also those of some of its fields.
SettingsChanges = Mapping[str, object]
