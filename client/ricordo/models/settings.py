"""How a project works, and what it declares of metadata."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pydantic import Field

from ricordo.models.base import ContextFormat, MemoryKind, Model, Word
from ricordo.models.memory import Topic


class MetadataPolicy(Word):
    """Which metadata keys filters may name: any, or those declared."""

    OPEN = "open"
    DECLARED = "declared"


class MetadataType(Word):
    """The type of a metadata value."""

    STRING = "string"
    NUMBER = "number"
    BOOL = "bool"
    TIME = "time"

    @classmethod
    def aliases(cls) -> dict[str, str]:
        """Other names of the same types."""
        return {"boolean": "bool", "date": "time", "str": "string", "int": "number", "float": "number"}


class MetadataKey(Model):
    """A declared metadata key, or a tag of a custom type; a dot in its name walks into a map."""

    name: str
    value_type: MetadataType


class CustomType(Model):
    """A type of custom memories, and the tags that they may have."""

    name: str
    tags: tuple[MetadataKey, ...] = ()


class ContextDefaults(Model):
    """What a context is built with where a call does not say. None: the server's own.

    `template` is the Jinja2 template of the format `jinja2`, at most 8 KiB: `ContextDefaults` in project.proto says
    what it is given and may use.
    """

    max_tokens: int | None = None
    format: ContextFormat | None = None
    top_k: int | None = None
    template: str | None = None


class TopicOfInterest(Model):
    """A topic, and what belongs to it (at most 512 bytes)."""

    topic: Topic
    description: str = ""


class ExampleMemory(Model):
    """What is learned in an example (at most 512 bytes), and what it is about."""

    content: str
    topics: tuple[Topic, ...] = ()


class ExtractionExample(Model):
    """What was said (at most 2 KiB), and what is learned from it: contents, with topics or without; none: nothing."""

    conversation: str
    learned: tuple[str | ExampleMemory, ...] = ()


class Person(Word):
    """In which grammatical person facts of the user are written down."""

    FIRST = "first"
    THIRD = "third"


class ExtractionPolicy(Model):
    """How turns become memories; the first five fields say when, in the background. None: not this trigger.

    `topic_shift` is the cosine of a turn with the mean of those before it below which it begins something new.
    `overlap` turns are given along to be understood. No `kinds`: semantic, episodic, procedural and taxonomic, and
    profile where there is a schema for the scope.

    `endpoint` is "builtin", which needs no model, or one that the operator has set up; empty: the server's default.
    `model` is one of that endpoint. `prompts` (at most 4,096 characters each) take the place of a kind's own. With
    `topics`, what is about none of them is not kept. `time_zone` is that of users whose session does not say. Facts
    of the user are written down in this `person`, where a model writes them. What rests on words trusted less than
    `least_trust` ("user", "assistant", "tool", "other") is held back for review.

    In the settings of a store, only the fields that are given to the constructor count: the others are the project's.
    So `topics=()` there is "no topics, whatever the project has".
    """

    enabled: bool = True
    turn_count: int | None = 20
    idle: timedelta | None = timedelta(minutes=3)
    topic_shift: float | None = 0.35
    overlap: int = 2
    kinds: tuple[MemoryKind, ...] = ()
    endpoint: str = ""
    model: str = ""
    prompts: Mapping[MemoryKind, str] = Field(default_factory=dict)
    topics: tuple[TopicOfInterest, ...] = ()
    examples: tuple[ExtractionExample, ...] = ()
    time_zone: str = "UTC"
    person: Person = Person.FIRST
    least_trust: str = "other"


class ExtractionChanges(ExtractionPolicy):
    """The new values of some fields of a project's policy: exactly those that are given are changed."""


class ScopedExtraction(Model):
    """How turns become memories in scopes that hold all of `scope_keys`: "user_id" and keys of labels."""

    scope_keys: tuple[str, ...]
    extraction: ExtractionPolicy


class Retention(Model):
    """How long memories and revisions are kept, where a call does not say. None: not said here; zero: no end.

    `default_ttl` holds for what is created or changed, counted anew with each change, where the next three do not
    say: for what a caller creates, and for what is made, or changed, of turns and given facts. `revision_ttl` is 365
    days by default; with `disable_revisions` there are none to be listed or gone back to.
    """

    default_ttl: timedelta | None = None
    create_ttl: timedelta | None = None
    generate_created_ttl: timedelta | None = None
    generate_updated_ttl: timedelta | None = None
    revision_ttl: timedelta | None = None
    disable_revisions: bool | None = None


class ProfileSchema(Model):
    """What is to be known in a structured form, of scopes that hold all of `scope_keys` (none: of every scope).

    `json_schema` is a JSON Schema of an object whose 1 to 64 `properties` are the fields: `ProfileSchema` in
    profile.proto says which keywords it may have. Each field is a memory of the kind `profile`.
    """

    schema_id: str
    json_schema: Mapping[str, Any]
    scope_keys: tuple[str, ...] = ()


class StoreSettings(Model):
    """How a store works, where it has its own way: what is not given is the project's.

    Of `extraction`, and of each policy in `scoped_extraction`, the fields that are given to its constructor count. Of
    several scoped ones that fit, the one with the most keys holds. `profile_schemas` (at most 8, or none) take the
    place of all of the project's.
    """

    language: str | None = None
    extraction: ExtractionPolicy | None = None
    scoped_extraction: tuple[ScopedExtraction, ...] = ()
    retention: Retention = Field(default_factory=Retention)
    profile_schemas: tuple[ProfileSchema, ...] | None = None


class ProjectSettings(Model):
    """How a project works.

    `language` is that of text search in stores that have none of their own. Values under declared keys are of the
    declared type. Once a custom type is declared, there are no others. End users write what everyone reads only where
    `end_users_may_publish`.
    """

    language: str | None = None
    metadata_policy: MetadataPolicy = MetadataPolicy.OPEN
    metadata_keys: tuple[MetadataKey, ...] = ()
    custom_types: tuple[CustomType, ...] = ()
    context: ContextDefaults = Field(default_factory=ContextDefaults)
    end_users_may_publish: bool = False
    extraction: ExtractionPolicy = Field(default_factory=ExtractionPolicy)
    retention: Retention = Field(default_factory=Retention)
    profile_schemas: tuple[ProfileSchema, ...] = ()


class ProjectChanges(ProjectSettings):
    """The new values of some settings: exactly those that are given are changed. A list is replaced whole, and so is
    the policy of extraction, unless it is given as `ExtractionChanges`.
    """
