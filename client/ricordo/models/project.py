"""The tenant: organizations, projects, stores, and who is asking."""

from datetime import datetime

from pydantic import Field

from ricordo.models.base import Model, PrincipalKind, Word
from ricordo.models.settings import ProjectSettings, StoreSettings


class Organization(Model):
    """A group of projects."""

    organization_id: str
    display_name: str = ""
    create_time: datetime


class Project(Model):
    """A tenant. `revision` counts the changes of its settings, from 1."""

    project_id: str
    organization_id: str = ""
    display_name: str = ""
    settings: ProjectSettings = Field(default_factory=ProjectSettings)
    revision: int = 0
    create_time: datetime
    update_time: datetime

    @property
    def language(self) -> str | None:
        """That of text search in stores that have none of their own."""
        return self.settings.language


class ProjectLimits(Model):
    """What a project may use; None: no limit. Beyond one, calls end in `RateLimitError` or `QuotaExceededError`.

    Attributes:
        requests_per_second: Calls; as many at once after a quiet second. concurrent_requests: Calls at a time.
        stored_memories: Deleted ones included until they are purged. stored_bytes: Of the texts, metadata and
        details of turns and of every revision. embedding_tokens_per_day: By o200k_base, in a day of UTC.
        llm_tokens_per_day: What models read and wrote for extraction, by its provider's count.
    """

    requests_per_second: int | None = None
    concurrent_requests: int | None = None
    stored_memories: int | None = None
    stored_bytes: int | None = None
    embedding_tokens_per_day: int | None = None
    llm_tokens_per_day: int | None = None


class ProjectUsage(Model):
    """What a project has used: `embedding_tokens` and `llm_tokens` today, by UTC."""

    stored_memories: int = 0
    stored_bytes: int = 0
    embedding_tokens: int = 0
    llm_tokens: int = 0


class StoreAccess(Word):
    """Who may use a store: everyone in the project, or its creator, administrators, and whom it is granted to."""

    OPEN = "open"
    RESTRICTED = "restricted"


class GrantedAccess(Word):
    """How far a grant goes: reading, or writing too."""

    READ = "read"
    WRITE = "write"


class StoreGrant(Model):
    """What a principal may do in a store while it is restricted."""

    store_id: str
    principal_id: str
    access: GrantedAccess
    create_time: datetime


class Store(Model):
    """A container of sessions and memories; `display_name` is for people."""

    store_id: str
    display_name: str = ""
    description: str = ""
    settings: StoreSettings = Field(default_factory=StoreSettings)
    access: StoreAccess = StoreAccess.OPEN
    creator_id: str = ""
    create_time: datetime
    update_time: datetime

    @property
    def language(self) -> str | None:
        """That of its text search; None: the project's."""
        return self.settings.language


class WhoAmI(Model):
    """What the server makes of the credential.

    `project_id` is empty for an operator; `user_ids` is empty for a principal that may name any end user.
    """

    principal_id: str
    kind: PrincipalKind
    project_id: str = ""
    roles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
