"""Statements on projects and organizations: the operator's, except for reading one's own project."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import Text, insert, literal, select

from ricordo_server.db.connection import ProjectConnection, Row
from ricordo_server.db.paging import fetch_page, text_key, time_key
from ricordo_server.db.tables import organization, project
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.store import Organization, Project, ProjectDraft

NEWEST_FIRST = [
    replace(time_key(project.c.create_time), descending=True),
    replace(text_key(project.c.project_id.cast(Text)), descending=True),
]


def project_from(row: Row) -> Project:
    return Project(
        project_id=row["project_id"],
        organization_id=row["organization_id"],
        display_name=row["display_name"],
        language=row["language"],
        create_time=row["create_time"],
        update_time=row["update_time"],
    )


async def get_project(connection: ProjectConnection) -> Project | None:
    row = await connection.fetch_one(select(project).where(project.c.project_id == connection.project_id))
    return project_from(row) if row else None


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
        "language": literal(draft.language, Text),
    }
    source = select(*new.values()).where(organization.c.organization_id == draft.organization_id)
    row = await connection.fetch_one(insert(project).from_select(list(new), source).returning(*project.c))
    return project_from(row) if row else None


async def list_projects(
    connection: ProjectConnection, organization_id: UUID | None, page: PageRequest
) -> Page[Project]:
    """Newest first."""
    statement = select(project)
    if organization_id is not None:
        statement = statement.where(project.c.organization_id == organization_id)
    return await fetch_page(connection, statement, NEWEST_FIRST, page, project_from)
