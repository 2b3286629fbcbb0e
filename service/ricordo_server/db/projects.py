"""Statements on projects and organizations: the operator's, except for reading one's own project."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import Text, and_, bindparam, func, insert, literal, select, update

from ricordo_server.db.connection import ProjectConnection, Row, TenantConnection
from ricordo_server.db.paging import fetch_page, text_key, time_key
from ricordo_server.db.settings_rows import settings_column, settings_from
from ricordo_server.db.tables import organization, project
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.project_settings import ProjectSettings
from ricordo_server.domain.store import Organization, Project, ProjectDraft

STORED = [
    *(
        column
        for column in project.c
        if column.name not in ("settings", "limits", "close_time", "erased_rows")
    ),
    project.c.settings.cast(Text),
]
NEWEST_FIRST = [
    replace(time_key(project.c.create_time), descending=True),
    replace(text_key(project.c.project_id.cast(Text)), descending=True),
]


def project_from(row: Row) -> Project:
    return Project(
        project_id=row["project_id"],
        organization_id=row["organization_id"],
        display_name=row["display_name"],
        settings=settings_from(row["settings"], row["language"]),
        revision=row["revision"],
        create_time=row["create_time"],
        update_time=row["update_time"],
    )


async def get_project(connection: ProjectConnection, *, lock: bool = False) -> Project | None:
    """With `lock` it waits for every writer that holds the settings, and keeps new ones waiting. None once closed."""
    open_one = and_(project.c.project_id == connection.project_id, project.c.close_time.is_(None))
    statement = select(*STORED).where(open_one)
    row = await connection.fetch_one(statement.with_for_update(key_share=True) if lock else statement)
    return project_from(row) if row else None


async def update_project(connection: ProjectConnection, settings: ProjectSettings) -> Project | None:
    """The clock, not now(): a writer that waited for another must not be stamped before it."""
    statement = (
        update(project)
        .where(project.c.project_id == connection.project_id)
        .values(
            language=settings.language,
            settings=bindparam("new_settings", type_=project.c.settings.type),
            revision=project.c.revision + 1,
            update_time=func.clock_timestamp(),
        )
    )
    row = await connection.fetch_one(
        statement.returning(*STORED), {"new_settings": settings_column(settings)}
    )
    return project_from(row) if row else None


async def hold_settings(connection: TenantConnection) -> TenantConnection:
    """With the settings as they are now; they stay so until the transaction ends."""
    row = await connection.fetch_one(select(func.ricordo.hold_settings().label("settings")))
    assert row is not None  # noqa: S101 - one call, one row
    return replace(connection, settings=settings_from(row["settings"], connection.settings.language))


async def create_organization(
    connection: ProjectConnection, organization_id: UUID, display_name: str
) -> Organization:
    statement = insert(organization).values(organization_id=organization_id, display_name=display_name)
    row = await connection.fetch_one(statement.returning(*organization.c))
    return Organization(**_present(row))


def _present(row: Row | None) -> dict[str, Any]:
    assert row is not None  # noqa: S101 - an insert without ON CONFLICT returns its row or raises
    return row


async def create_project(
    connection: ProjectConnection, project_id: UUID, draft: ProjectDraft
) -> Project | None:
    """Inserts the project; None when there is no such organization."""
    new = {
        "project_id": literal(project_id, project.c.project_id.type),
        "organization_id": organization.c.organization_id,
        "display_name": literal(draft.display_name, Text),
        "language": literal(draft.settings.language, Text),
        "settings": bindparam("new_settings", type_=project.c.settings.type),
    }
    source = select(*new.values()).where(organization.c.organization_id == draft.organization_id)
    statement = insert(project).from_select(list(new), source).returning(*STORED)
    row = await connection.fetch_one(statement, {"new_settings": settings_column(draft.settings)})
    return project_from(row) if row else None


async def list_projects(
    connection: ProjectConnection, organization_id: UUID | None, page: PageRequest
) -> Page[Project]:
    """Newest first."""
    statement = select(*STORED)
    if organization_id is not None:
        statement = statement.where(project.c.organization_id == organization_id)
    return await fetch_page(connection, statement, NEWEST_FIRST, page, project_from)
