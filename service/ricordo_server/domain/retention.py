"""How long memories and their revisions are kept, where a call does not say."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum

REVISION_TTL = timedelta(days=365)
# Of a revision that is not kept: whatever the clocks say, nobody ever sees it.
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Write(StrEnum):
    """What a write is to a memory's life: the field of Retention that says how long it goes on."""

    CREATED = "create_ttl"
    CHANGED = "default_ttl"
    GENERATED = "generate_created_ttl"
    REGENERATED = "generate_updated_ttl"


@dataclass(frozen=True)
class RevisionOptions:
    """How a call wants its change kept as a revision; None is as the store says. A `ttl` of zero is no end."""

    labels: Mapping[str, str] = field(default_factory=dict)
    expire_time: datetime | None = None
    ttl: timedelta | None = None
    disabled: bool | None = None


DEFAULT_OPTIONS = RevisionOptions()


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

    def revision_expire_time(self, options: RevisionOptions, now: datetime) -> datetime | None:
        """When a revision that is written now goes; None: with its memory."""
        if options.expire_time is not None:
            return options.expire_time
        disabled = (
            self.disable_revisions and options.ttl is None if options.disabled is None else options.disabled
        )
        if disabled:
            return LONG_AGO
        ttls = [ttl for ttl in (options.ttl, self.revision_ttl, REVISION_TTL) if ttl is not None]
        return now + ttls[0] if ttls[0] else None


NO_RETENTION = Retention()
