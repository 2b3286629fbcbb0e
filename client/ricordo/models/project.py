"""The tenant: organizations, projects, stores, and who is asking."""

from datetime import datetime

from ricordo.models.base import Model, PrincipalKind


class Organization(Model):
    """A group of projects."""

    organization_id: str
    display_name: str = ""
    create_time: datetime


class Project(Model):
    """A tenant. `language` is that of text search in stores that have none of their own."""

    project_id: str
    organization_id: str = ""
    display_name: str = ""
    language: str | None = None
    create_time: datetime
    update_time: datetime


class Store(Model):
    """A container of sessions and memories. Without a `language` of its own it has the project's."""

    store_id: str
    description: str = ""
    language: str | None = None
    creator_id: str = ""
    create_time: datetime
    update_time: datetime


class WhoAmI(Model):
    """What the server makes of the credential.

    `project_id` is empty for an operator; `user_ids` is empty for a principal that may name any end user.
    """

    principal_id: str
    kind: PrincipalKind
    project_id: str = ""
    roles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
