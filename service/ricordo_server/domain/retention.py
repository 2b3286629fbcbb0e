"""How long memories and their revisions are kept, where a call does not say."""

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum

REVISION_TTL = timedelta(days=365)


class Write(StrEnum):
    """What a write is to a memory's life: the field of Retention that says how long it goes on."""

    CREATED = "create_ttl"
    CHANGED = "default_ttl"
    GENERATED = "generate_created_ttl"
    REGENERATED = "generate_updated_ttl"


@dataclass(frozen=True)
class Retention:
    """None is not said here; a time of zero is no end."""

    default_ttl: timedelta | None = None
    create_ttl: timedelta | None = None
    generate_created_ttl: timedelta | None = None
    generate_updated_ttl: timedelta | None = None
    revision_ttl: timedelta | None = None
    disable_revisions: bool | None = None

    def over(self, below: "Retention") -> "Retention":
        """This one's own, and what it does not say from `below`."""
        names = [field.name for field in fields(self)]
        own = {name: getattr(self, name) for name in names}
        return Retention(
            **{name: getattr(below, name) if value is None else value for name, value in own.items()}
        )

    def expire_time(self, write: Write, now: datetime) -> datetime | None:
        """When a memory that is written now ends; None where that is left as it is, or is never."""
        own: timedelta | None = getattr(self, write)
        ttl = self.default_ttl if own is None else own
        return now + ttl if ttl else None


NO_RETENTION = Retention()
