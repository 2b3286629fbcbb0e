"""What every model shares, and the words users pick from."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ricordo._deprecations import warn_deprecated
from ricordo.errors import MemoryClientError

MetadataValue = (
    None | str | int | float | bool | datetime | Sequence["MetadataValue"] | Mapping[str, "MetadataValue"]
)
"""What metadata may hold, kept exactly: integers of 64 bits, finite floats, times with a zone."""

Metadata = dict[str, Any]
"""Metadata as it comes back: each value is a `MetadataValue`."""


class Model(BaseModel):
    """A frozen record; an unknown field, or a value that is not of its field's type, is a `MemoryClientError`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    if not TYPE_CHECKING:  # type checkers see the fields, which a written __init__ would hide from them

        def __init__(self, /, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                faults = (
                    f"{'.'.join(map(str, (error.title, *one['loc'])))}: {one['msg']}"
                    for one in error.errors(include_url=False, include_context=False)
                )
                raise MemoryClientError("; ".join(faults)) from error


class Word(StrEnum):
    """An enum whose members are read from their value in any case, or from an older or shorter name."""

    @classmethod
    def aliases(cls) -> Mapping[str, str]:
        """Other accepted spellings, in lower case."""
        return {}

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        spelling = value.lower()
        spelling = cls.aliases().get(spelling, spelling)
        return next((member for member in cls if member.value == spelling), None)


class MemoryKind(Word):
    """What a memory is."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    TAXONOMIC = "taxonomic"
    DOCUMENT = "document"
    PROFILE = "profile"
    CUSTOM = "custom"


class Visibility(Word):
    """How far a memory can be read: by its owner, or by everyone who may read the store."""

    PRIVATE = "private"
    ORG = "org"

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if value == "shared":
            warn_deprecated("visibility 'shared' is deprecated: write 'org'")
            return cls("org")
        return super()._missing_(value)


class MemorySource(Word):
    """Who wrote a memory; callers cannot say `extraction`."""

    AGENT = "agent"
    USER = "user"
    EXTRACTION = "extraction"
    IMPORT = "import"


class SearchMode(Word):
    """By words, by meaning, or both, fused. Scores of different modes are not comparable."""

    TEXT = "text"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


class FusionMethod(Word):
    """How a hybrid search is fused: the weighted sum of scaled scores, or of reciprocal ranks (k = 60)."""

    CONVEX = "convex"
    RRF = "rrf"


class ContextSource(Word):
    """Where context comes from. `stm`, short-term memory, is the recorded turns."""

    STM = "stm"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    TAXONOMIC = "taxonomic"
    DOCUMENT = "document"
    PROFILE = "profile"
    CUSTOM = "custom"

    @classmethod
    def aliases(cls) -> Mapping[str, str]:
        """`turns`, `short_term`: names of the same source."""
        return {"turns": "stm", "short_term": "stm"}


class ContextFormat(Word):
    """How context is rendered: chat messages, XML text, Markdown text, or by the project's own template."""

    OPENAI = "openai"
    CLAUDE = "claude"
    MARKDOWN = "markdown"
    JINJA2 = "jinja2"


class LeftOutCause(Word):
    """Why a candidate is not in the context."""

    DUPLICATE = "duplicate"
    BUDGET = "budget"


class View(Word):
    """How much of each row a list returns: `basic` leaves out content, tool calls and data."""

    BASIC = "basic"
    FULL = "full"


class RevisionAction(Word):
    """What a change was."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


class ManagedTopic(Word):
    """The topics every project has."""

    USER_PERSONAL_INFO = "user_personal_info"
    USER_PREFERENCES = "user_preferences"
    KEY_CONVERSATION_DETAILS = "key_conversation_details"
    EXPLICIT_INSTRUCTIONS = "explicit_instructions"


class PrincipalKind(Word):
    """What a credential stands for."""

    SERVICE = "service"
    USER = "user"
    OPERATOR = "operator"


class ProjectRole(Word):
    """What a principal may do in its project; each includes the one before."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


class FailureClass(Word):
    """Why background work failed; `content` and `cancelled` are not tried again, the others later and later."""

    TRANSIENT = "transient"
    RATE_LIMIT = "rate_limit"
    CREDENTIAL = "credential"
    CONTENT = "content"
    CANCELLED = "cancelled"
