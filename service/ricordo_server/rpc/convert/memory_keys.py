"""Natural keys: one rule per kind."""

from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.limits import MAX_MADE_KEY_BYTES
from ricordo_server.domain.memory import Details, MemoryKind, ProfileDetails, TaxonomicDetails, made_key
from ricordo_server.rpc.checks import check_text


def decode_key(kind: MemoryKind, key: str, details: Details | None, field: str) -> str | None:
    """The key a memory gets; None for a memory that is never unique."""
    match kind, details:
        case MemoryKind.TAXONOMIC, TaxonomicDetails(domain=domain, term=term):
            return _made(field, key, domain, term)
        case MemoryKind.PROFILE, ProfileDetails(schema_id=schema_id, field_name=field_name):
            return _made(field, key, schema_id, field_name)
        case MemoryKind.DOCUMENT, _:
            return check_path(field, key)
        case MemoryKind.TAXONOMIC | MemoryKind.PROFILE, _:  # read by a key that the server made
            return check_text(field, key, limit=MAX_MADE_KEY_BYTES) or None
        case _:
            return check_text(field, key) or None


def _made(field: str, given: str, *parts: str) -> str:
    """A caller may leave it out or give just that back."""
    made = made_key(*parts)
    if given not in ("", made):
        raise invalid_field(field, f"{field} is made from the details: leave it out")
    return check_text(field, made, limit=MAX_MADE_KEY_BYTES)


def check_path(field: str, path: str) -> str:
    """An absolute path without empty, `.` or `..` segments."""
    check_text(field, path, required=True)
    root, *segments = path.split("/")
    if root or not segments or any(segment in ("", ".", "..") for segment in segments):
        message = (
            f"{field} must be an absolute path such as /notes/today.md, without empty, '.' or '..' segments"
        )
        raise invalid_field(field, message)
    return path
