"""What a project may use and has used."""

from collections.abc import Sequence

from ricordo.v1 import project_pb2
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.project_limits import LimitChanges, ProjectLimits, ProjectUsage

NAMES = tuple(project_pb2.ProjectLimits.DESCRIPTOR.fields_by_name)
# Beyond, a limit is none; and the two of requests are 32-bit numbers.
LARGEST = {"requests_per_second": 1_000_000, "concurrent_requests": 1_000_000}
LARGEST_STORED = 2**53


def decode_limit_changes(message: project_pb2.ProjectLimits, paths: Sequence[str]) -> LimitChanges:
    """The new values of the masked fields, None for those that are not given.

    Raises:
        DomainError: INVALID_FIELD.
    """
    unknown = set(paths) - set(NAMES)
    if unknown or not paths:
        what = f"{', '.join(sorted(unknown))} cannot be changed" if unknown else "update_mask is required"
        raise invalid_field("update_mask", f"{what}; accepted: {', '.join(NAMES)}")
    return {name: _decode_limit(message, name) for name in paths}


def _decode_limit(message: project_pb2.ProjectLimits, name: str) -> int | None:
    if not message.HasField(name):  # type: ignore[arg-type] # the names are the message's own
        return None
    value: int = getattr(message, name)
    largest = LARGEST.get(name, LARGEST_STORED)
    least = 1 if name in LARGEST else 0
    if not least <= value <= largest:
        raise invalid_field(
            f"limits.{name}", f"{name} is {value}: give {least} to {largest}, or leave it out"
        )
    return value


def encode_limits(limits: ProjectLimits) -> project_pb2.ProjectLimits:
    return project_pb2.ProjectLimits(**{name: getattr(limits, name) for name in NAMES})


def encode_usage(usage: ProjectUsage) -> project_pb2.ProjectUsage:
    names = project_pb2.ProjectUsage.DESCRIPTOR.fields_by_name
    return project_pb2.ProjectUsage(**{name: getattr(usage, name) for name in names})
