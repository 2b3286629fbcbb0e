"""Containers: organization, project, store."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

DEFAULT_STORE = "default"
DEFAULT_LANGUAGE = "english"

# The text-search configurations of every PostgreSQL since 14; `ricordo.text_config` knows the same.
LANGUAGES = (
    "simple", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french",
    "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali",
    "norwegian", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish",
    "yiddish",
)  # fmt: skip


@dataclass(frozen=True)
class Organization:
    organization_id: UUID
    display_name: str
    create_time: datetime


@dataclass(frozen=True)
class Project:
    """`language` is None when the project does not set one."""

    project_id: UUID
    organization_id: UUID
    display_name: str
    language: str | None
    create_time: datetime
    update_time: datetime


@dataclass(frozen=True)
class StoreDraft:
    store_id: str
    description: str = ""
    language: str | None = None


@dataclass(frozen=True)
class Store:
    """`store_id` is the name on the wire; `language` is None when inherited."""

    store_id: str
    description: str
    language: str | None
    creator_id: str
    create_time: datetime
    update_time: datetime
