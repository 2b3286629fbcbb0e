"""Organizations, projects and stores: requests and replies."""

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import enums, paging, values
from ricordo._convert.policies import decode_store_settings, encode_store_settings
from ricordo._convert.project_settings import decode_settings
from ricordo._convert.sendable import sendable
from ricordo.errors import MemoryClientError
from ricordo.v1 import (
    admin_service_pb2,
    project_pb2,
    store_pb2,
    store_service_pb2,
)


@sendable
def create_organization_request(
    display_name: str, *, request_id: str | None
) -> admin_service_pb2.CreateOrganizationRequest:
    """Asks for a new organization."""
    return admin_service_pb2.CreateOrganizationRequest(
        organization=project_pb2.Organization(display_name=display_name), request_id=paging.fresh(request_id)
    )


@sendable
def create_project_request(
    display_name: str, *, organization_id: str, language: str | None, request_id: str | None
) -> admin_service_pb2.CreateProjectRequest:
    """Asks for a new project."""
    project = project_pb2.Project(
        display_name=display_name,
        organization_id=organization_id,
        settings=project_pb2.ProjectSettings(language=language),
    )
    return admin_service_pb2.CreateProjectRequest(project=project, request_id=paging.fresh(request_id))


@sendable
def list_projects_request(
    *, organization_id: str, page_size: int | None
) -> admin_service_pb2.ListProjectsRequest:
    """Asks for a page of projects."""
    return admin_service_pb2.ListProjectsRequest(organization_id=organization_id, page_size=page_size)


@sendable
def get_queue_status_request(project_id: str) -> admin_service_pb2.GetQueueStatusRequest:
    """Asks what waits."""
    return admin_service_pb2.GetQueueStatusRequest(project_id=project_id)


@sendable
def create_store_request(
    store_id: str,
    *,
    display_name: str,
    description: str,
    language: str | None,
    access: models.StoreAccess | str | None,
    settings: models.StoreSettings | None,
    request_id: str | None,
) -> store_service_pb2.CreateStoreRequest:
    """Asks for a new store."""
    store = _encode_store(store_id, display_name, description, access, _settings(settings, language))
    return store_service_pb2.CreateStoreRequest(store=store, request_id=paging.fresh(request_id))


@sendable
def get_store_request(store_id: str | None) -> store_service_pb2.GetStoreRequest:
    """Asks for a store."""
    return store_service_pb2.GetStoreRequest(store_id=store_id or "")


@sendable
def list_stores_request(*, order_by: str, page_size: int | None) -> store_service_pb2.ListStoresRequest:
    """Asks for a page of stores."""
    return store_service_pb2.ListStoresRequest(order_by=paging.encode_order(order_by), page_size=page_size)


@sendable
def update_store_request(
    store_id: str,
    *,
    display_name: str | None,
    description: str | None,
    language: str | None,
    access: models.StoreAccess | str | None,
    settings: models.StoreSettings | None,
    request_id: str | None,
) -> store_service_pb2.UpdateStoreRequest:
    """Asks to change what is given; an empty language inherits the project's.

    Raises:
        MemoryClientError: Nothing is given.
    """
    new = _settings(settings, language)
    given = {"display_name": display_name, "description": description, "access": access}
    paths = [path for path, value in given.items() if value is not None]
    paths += [
        f"settings.{name}" for name in models.StoreSettings.model_fields if name in new.model_fields_set
    ]
    if not paths:
        message = "update changes what is given, and nothing is: give description, access, settings, ..."
        raise MemoryClientError(message)
    return store_service_pb2.UpdateStoreRequest(
        store=_encode_store(store_id, display_name or "", description or "", access, new),
        update_mask=FieldMask(paths=paths),
        request_id=paging.fresh(request_id),
    )


@sendable
def delete_store_request(
    store_id: str, *, force: bool, request_id: str | None
) -> store_service_pb2.DeleteStoreRequest:
    """Asks to delete a store."""
    return store_service_pb2.DeleteStoreRequest(
        store_id=store_id, force=force, request_id=paging.fresh(request_id)
    )


def decode_organization(organization: project_pb2.Organization) -> models.Organization:
    """Decodes an organization."""
    return models.Organization(
        organization_id=organization.organization_id,
        display_name=organization.display_name,
        create_time=values.decode_time(organization.create_time),
    )


def decode_project(project: project_pb2.Project) -> models.Project:
    """Decodes a project."""
    return models.Project(
        project_id=project.project_id,
        organization_id=project.organization_id,
        display_name=project.display_name,
        settings=decode_settings(project.settings),
        revision=project.revision,
        create_time=values.decode_time(project.create_time),
        update_time=values.decode_time(project.update_time),
    )


def decode_queue_status(reply: admin_service_pb2.GetQueueStatusResponse) -> models.QueueStatus:
    """Decodes what waits."""
    projects = tuple(
        models.ProjectQueue(project_id=each.project_id, counts=_decode_counts(each.counts))
        for each in reply.projects
    )
    return models.QueueStatus(workers=reply.workers, total=_decode_counts(reply.total), projects=projects)


def _decode_counts(counts: admin_service_pb2.QueueCounts) -> models.QueueCounts:
    return models.QueueCounts(
        waiting=counts.waiting,
        scheduled=counts.scheduled,
        running=counts.running,
        failed=counts.failed,
        oldest_due_time=values.decode_optional_time(
            counts.oldest_due_time, counts.HasField("oldest_due_time")
        ),
        last_failure_class=(
            enums.FAILURE_CLASS.decode(counts.last_failure_class) if counts.last_failure_class else None
        ),
    )


def decode_store(store: store_pb2.Store) -> models.Store:
    """Decodes a store."""
    return models.Store(
        store_id=store.store_id,
        display_name=store.display_name,
        description=store.description,
        settings=decode_store_settings(store.settings),
        access=enums.STORE_ACCESS.decode(store.access or store_pb2.STORE_ACCESS_OPEN),
        creator_id=store.creator_id,
        create_time=values.decode_time(store.create_time),
        update_time=values.decode_time(store.update_time),
    )


def _settings(settings: models.StoreSettings | None, language: str | None) -> models.StoreSettings:
    """The language may be given by itself."""
    if settings is None:
        return models.StoreSettings() if language is None else models.StoreSettings(language=language)
    return settings if language is None else settings.model_copy(update={"language": language})


def _encode_store(
    store_id: str,
    display_name: str,
    description: str,
    access: models.StoreAccess | str | None,
    settings: models.StoreSettings,
) -> store_pb2.Store:
    return store_pb2.Store(
        store_id=store_id,
        display_name=display_name,
        description=description,
        settings=encode_store_settings(settings),
        access=enums.STORE_ACCESS.encode(access),
    )
