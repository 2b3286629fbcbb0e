"""Projects and organizations."""

from collections.abc import Sequence

from ricordo.v1 import project_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.project_settings import SettingsChanges
from ricordo_server.domain.store import Organization, Project, ProjectDraft
from ricordo_server.rpc.checks import check_text, check_uuid
from ricordo_server.rpc.convert.extraction_policy import POLICY_FIELDS, select_changes
from ricordo_server.rpc.convert.project_settings import decode_settings, encode_settings
from ricordo_server.rpc.convert.times import encode_time

# The fields of the settings, which are those of the domain.
SETTINGS = tuple(project_pb2.ProjectSettings.DESCRIPTOR.fields_by_name)
OF_POLICY = "settings.extraction."
ACCEPTED = (
    "settings",
    *(f"settings.{name}" for name in SETTINGS),
    *(OF_POLICY + name for name in POLICY_FIELDS),
)
ACCEPTED_PATHS = ", ".join(ACCEPTED)


def decode_display_name(value: str, field: str) -> str:
    return check_text(field, value, required=True)


def decode_project(message: project_pb2.Project, field: str = "project") -> ProjectDraft:
    """What a caller may say; output fields are ignored."""
    return ProjectDraft(
        organization_id=check_uuid(f"{field}.organization_id", message.organization_id),
        display_name=decode_display_name(message.display_name, f"{field}.display_name"),
        settings=decode_settings(message.settings, f"{field}.settings"),
    )


def decode_settings_changes(message: project_pb2.Project, paths: Sequence[str]) -> SettingsChanges:
    """The new values of the masked fields.

    Raises:
        DomainError: INVALID_FIELD naming the accepted paths.
    """
    if not paths:
        raise invalid_field("update_mask", f"update_mask is required; accepted: {ACCEPTED_PATHS}")
    for path in paths:
        if path not in ACCEPTED:
            message_ = f"{path!r} cannot be changed; accepted: {ACCEPTED_PATHS}"
            raise invalid_field("update_mask", message_)
    settings = decode_settings(message.settings, "project.settings")
    names = (
        SETTINGS if "settings" in paths else [path.split(".")[1] for path in paths if path.count(".") == 1]
    )
    changes: dict[str, object] = {name: getattr(settings, name) for name in names}
    of_policy = [path.removeprefix(OF_POLICY) for path in paths if path.startswith(OF_POLICY)]
    if of_policy and "extraction" not in changes:
        changes["extraction"] = select_changes(settings.extraction, of_policy)
    return changes


def encode_project(project: Project) -> project_pb2.Project:
    return project_pb2.Project(
        project_id=str(project.project_id),
        organization_id=str(project.organization_id),
        display_name=project.display_name,
        settings=encode_settings(project.settings),
        revision=project.revision,
        create_time=encode_time(project.create_time),
        update_time=encode_time(project.update_time),
    )


def encode_organization(organization: Organization) -> project_pb2.Organization:
    return project_pb2.Organization(
        organization_id=str(organization.organization_id),
        display_name=organization.display_name,
        create_time=encode_time(organization.create_time),
    )
