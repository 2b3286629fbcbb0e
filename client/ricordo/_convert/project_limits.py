"""What a project may use and has used, to the wire and back."""

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import paging
from ricordo._convert.sendable import sendable
from ricordo.errors import MemoryClientError
from ricordo.v1 import admin_service_pb2, project_pb2


@sendable
def get_project_limits_request(project_id: str) -> admin_service_pb2.GetProjectLimitsRequest:
    """Asks for the limits of a project."""
    return admin_service_pb2.GetProjectLimitsRequest(project_id=project_id)


@sendable
def update_project_limits_request(
    project_id: str, changes: models.ProjectLimits, *, request_id: str | None
) -> admin_service_pb2.UpdateProjectLimitsRequest:
    """Asks to change the limits that were given.

    Raises:
        MemoryClientError: None was given.
    """
    given = [name for name in models.ProjectLimits.model_fields if name in changes.model_fields_set]
    if not given:
        raise MemoryClientError(
            "update changes the limits that are given, and none is: ProjectLimits(stored_memories=...)"
        )
    return admin_service_pb2.UpdateProjectLimitsRequest(
        project_id=project_id,
        limits=project_pb2.ProjectLimits(**changes.model_dump()),
        update_mask=FieldMask(paths=given),
        request_id=paging.fresh(request_id),
    )


def decode_limits(limits: project_pb2.ProjectLimits) -> models.ProjectLimits:
    """Decodes limits; one that is not there is None."""
    return models.ProjectLimits(**{field.name: value for field, value in limits.ListFields()})


def decode_usage(usage: project_pb2.ProjectUsage) -> models.ProjectUsage:
    """Decodes usage."""
    return models.ProjectUsage(**{name: getattr(usage, name) for name in models.ProjectUsage.model_fields})
