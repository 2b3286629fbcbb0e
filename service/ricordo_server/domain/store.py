"""Containers: organization, project, store."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.project_settings import DEFAULT_SETTINGS, ProjectSettings
from ricordo_server.domain.store_settings import StoreSettings, StoreSettingsChanges

STORE_ID = re.compile(r"[a-z][a-z0-9-]{1,54}[a-z0-9]")
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
    """`revision` counts the changes of its settings, from 1."""

    project_id: UUID
    organization_id: UUID
    display_name: str
    settings: ProjectSettings
    revision: int
    create_time: datetime
    update_time: datetime


@dataclass(frozen=True)
class ProjectDraft:
    organization_id: UUID
    display_name: str
    settings: ProjectSettings = DEFAULT_SETTINGS


class StoreAccess(StrEnum):
    """Who may use a store: everyone in its project, or its creator, administrators, and whom it is granted to."""

    OPEN = "OPEN"
    RESTRICTED = "RESTRICTED"


class GrantedAccess(StrEnum):
    READ = "READ"
    WRITE = "WRITE"


@dataclass(frozen=True)
class GrantDraft:
    store_id: str
    principal_id: str
    access: GrantedAccess


@dataclass(frozen=True)
class Grant:
    """What a principal may do in a store that is restricted."""

    store_id: str
    principal_id: str
    access: GrantedAccess
    create_time: datetime


@dataclass(frozen=True)
class StoreDraft:
    store_id: str
    display_name: str = ""
    description: str = ""
    settings: StoreSettings = field(default_factory=StoreSettings)
    access: StoreAccess = StoreAccess.OPEN


@dataclass(frozen=True)
class StoreChanges:
    """New values by field name: `fields` of the store itself, `settings` of StoreSettings."""

    fields: Mapping[str, str] = field(default_factory=dict)
    settings: StoreSettingsChanges = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return sorted([*self.fields, *self.settings])


@dataclass(frozen=True)
class Store:
    """`store_id` is the name on the wire."""

    store_id: str
    display_name: str
    description: str
    settings: StoreSettings
    access: StoreAccess
    creator_id: str
    create_time: datetime
    update_time: datetime


SHOWN_NAME_CHARACTERS = 64


def store_not_found(name: str) -> DomainError:
    """Of any name: one that is no store id cannot be found either."""
    shown = name[:SHOWN_NAME_CHARACTERS]
    message = f"there is no store {shown!r} in this project: create it, or list the stores"
    return DomainError(Reason.STORE_NOT_FOUND, message, "store_id", {"store_id": shown})
