"""Projects and organizations: the caller's own, and the operator's work on all of them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from uuid_utils.compat import uuid7

from ricordo_server.app.declarations import apply_declarations
from ricordo_server.app.endpoints import check_endpoint
from ricordo_server.app.permissions import check_may_administer, check_operator
from ricordo_server.app.revisions import check_revision
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, write_project
from ricordo_server.db import audit as audit_db
from ricordo_server.db import projects as projects_db
from ricordo_server.db import stores as stores_db
from ricordo_server.db.connection import Pool, ProjectConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.declarations import check_declarations
from ricordo_server.domain.errors import DomainError, Reason, invalid_field
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.project_settings import ContextDefaults, ProjectSettings, SettingsChanges
from ricordo_server.domain.store import DEFAULT_STORE, Organization, Project, ProjectDraft, StoreDraft
from ricordo_server.domain.template_language import TemplateFault
from ricordo_server.domain.templates import check_template


async def get_project(services: Services, call: Call) -> Project:
    """The project of the credential.

    Raises:
        DomainError: PROJECT_NOT_FOUND.
    """
    async with in_project(services.database.pool, call) as connection:
        return present_project(await projects_db.get_project(connection))


def present_project(project: Project | None) -> Project:
    """Raises DomainError: PROJECT_NOT_FOUND."""
    if project is None:
        message = "the project of this credential is not there: ask the operator for a new credential"
        raise DomainError(Reason.PROJECT_NOT_FOUND, message)
    return project


async def update_project(
    services: Services,
    call: Call,
    changes: SettingsChanges,
    *,
    expected_revision: int | None,
    force: bool,
) -> Project:
    """Changes the settings given, once the rows of every store agree with them.

    The project is held first: writers of metadata hold it too, so none of them is between its check and its commit.

    Raises:
        DomainError: PERMISSION_DENIED, REVISION_MISMATCH, INVALID_FIELD (declarations that contradict one
            another; a template that does not render),
            METADATA_TYPE_CONFLICT, CUSTOM_TYPE_NOT_EMPTY (unless `force`).
    """
    check_may_administer(call.principal)
    await _check_template(changes.get("context"))

    async def work(connection: ProjectConnection) -> Project:
        current = present_project(await projects_db.get_project(connection, lock=True))
        check_revision(current.revision, expected_revision, "project")
        settings = _changed(current.settings, changes)
        check_declarations(settings, "project.settings")
        if settings.extraction.endpoint != current.settings.extraction.endpoint:
            check_endpoint(services, vars(settings.extraction), "project.settings.extraction")
        await apply_declarations(connection, current.settings, settings, force=force)
        written = present_project(await projects_db.update_project(connection, settings))
        changed = ", ".join(sorted(changes))
        await audit_db.write_record(connection, call.principal, "UpdateProject", changed)
        return written

    return await write_project(services.database.pool, call, work)


def _changed(settings: ProjectSettings, changes: SettingsChanges) -> ProjectSettings:
    policy = changes.get("extraction")
    if isinstance(policy, Mapping):
        changes = {**changes, "extraction": settings.extraction.changed(policy)}
    return replace(settings, **changes)  # type: ignore[arg-type]


async def _check_template(context: object) -> None:
    """The template of new context defaults, before any transaction: it takes some milliseconds of work."""
    if not isinstance(context, ContextDefaults) or not context.template:
        return
    try:
        await asyncio.to_thread(check_template, context.template)
    except TemplateFault as fault:
        raise invalid_field("project.settings.context.template", f"the template fails, {fault}") from fault


async def create_organization(pool: Pool, call: Call, display_name: str) -> Organization:
    """Writes a new organization; `pool` is the operator's.

    Raises:
        DomainError: PERMISSION_DENIED.
    """
    check_operator(call.principal)

    async def work(connection: ProjectConnection) -> Organization:
        created = await projects_db.create_organization(connection, uuid7(), display_name)
        subject = str(created.organization_id)
        await audit_db.write_record(connection, call.principal, "CreateOrganization", subject)
        return created

    return await write_project(pool, call, work)


async def create_project(pool: Pool, call: Call, draft: ProjectDraft) -> Project:
    """Writes a new project with its store `default`; `pool` is the operator's.

    Raises:
        DomainError: ORGANIZATION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_operator(call.principal)
    check_declarations(draft.settings, "project.settings")
    await _check_template(draft.settings.context)

    async def work(connection: ProjectConnection) -> Project:
        created = await projects_db.create_project(connection, uuid7(), draft)
        if created is None:
            message = f"there is no organization {draft.organization_id}: create it first"
            raise DomainError(Reason.ORGANIZATION_NOT_FOUND, message, "project.organization_id")
        store, creator_id = StoreDraft(DEFAULT_STORE), call.principal.principal_id
        await stores_db.create_store(connection, created.project_id, uuid7(), store, creator_id)
        subject = str(created.project_id)
        await audit_db.write_record(connection, call.principal, "CreateProject", subject)
        return created

    return await write_project(pool, call, work)


async def list_projects(
    pool: Pool, call: Call, organization_id: UUID | None, page: PageRequest
) -> Page[Project]:
    """Newest first; `pool` is the operator's.

    Raises:
        DomainError: PERMISSION_DENIED.
    """
    check_operator(call.principal)
    async with in_project(pool, call) as connection:
        return await projects_db.list_projects(connection, organization_id, page)
