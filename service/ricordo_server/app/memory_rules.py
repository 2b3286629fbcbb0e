"""What must hold of a memory once a change of some of its fields is written; a breach rolls the change back."""

from ricordo_server.domain.errors import invalid_field, over_limit
from ricordo_server.domain.limits import MAX_CONTENT_BYTES
from ricordo_server.domain.memory import (
    DETAILS_OF_KIND,
    Memory,
    ProfileDetails,
    TaxonomicDetails,
)


def check_written(written: Memory) -> None:
    """The limits that hold for the whole and not for the change alone."""
    size = len(written.content.encode())
    if size > MAX_CONTENT_BYTES:
        raise over_limit("memory.content", "bytes after appending", MAX_CONTENT_BYTES, size)
    start, end = written.event_time, written.event_end_time
    if end and (start is None or end < start):
        raise invalid_field(
            "memory.event_end_time", "event_end_time must not be before event_time: change both"
        )


def check_details(current: Memory | None, details: object) -> None:
    """Details belong to the kind, and those that make the key are as immutable as the key."""
    if current is None:
        return
    if details is not None and not isinstance(details, DETAILS_OF_KIND.get(current.kind, type(None))):
        raise invalid_field("memory.details", f"these details do not belong to a {current.kind} memory")
    if _key_parts(details) != _key_parts(current.details):
        message = "domain and term, or schema_id and field_name, make the key and stay: create another memory"
        raise invalid_field("memory.details", message)


def _key_parts(details: object) -> tuple[str, ...]:
    match details:
        case TaxonomicDetails(domain=domain, term=term):
            return (domain, term)
        case ProfileDetails(schema_id=schema_id, field_name=field_name):
            return (schema_id, field_name)
        case _:
            return ()
