"""THE table of the db edge: SQLSTATE -> domain error. Never by message text, never by a constraint's name."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolTimeout

from ricordo_server.domain.errors import DomainError, Reason

UNAVAILABLE = "the database cannot be reached or is recovering: try again shortly"

# With the field at fault, where the state tells it.
REASON_BY_STATE: dict[str, tuple[Reason, str] | tuple[Reason, str, str]] = {
    "57014": (Reason.DEADLINE_EXCEEDED, "the deadline passed before the work was done: allow more time"),
    "40001": (Reason.WRITE_CONFLICT, "concurrent writers collided: try again"),
    "40P01": (Reason.WRITE_CONFLICT, "concurrent writers collided: try again"),
    "55P03": (Reason.WRITE_CONFLICT, "others held for long what this needs: try again"),
    # The row that a new one belongs to went away meanwhile, as a deleted store: the next attempt sees it gone.
    "23503": (Reason.WRITE_CONFLICT, "what this belongs to was deleted meanwhile: look whether it is there"),
    "23505": (
        Reason.ID_TAKEN,
        "the id is in use in this store, maybe by a deleted row: choose another, or none",
    ),
    "22021": (Reason.INVALID_FIELD, "a text holds a character that PostgreSQL cannot store: remove it"),
    "54000": (Reason.LIMIT_EXCEEDED, "a text has more distinct words than can be indexed: send less"),
    "42501": (
        Reason.PERMISSION_DENIED,
        "the credential may not write this: it is not its own, or everyone would read it",
    ),
    "2201B": (
        Reason.INVALID_FILTER,
        "the regular expression is not valid in PostgreSQL: correct it",
        "filter",
    ),
    "57P01": (Reason.DATABASE_UNAVAILABLE, UNAVAILABLE),
    "57P02": (Reason.DATABASE_UNAVAILABLE, UNAVAILABLE),
    "57P03": (Reason.DATABASE_UNAVAILABLE, UNAVAILABLE),
    "53300": (Reason.DATABASE_UNAVAILABLE, "the database has no free connection: try again shortly"),
    "53100": (Reason.DATABASE_UNAVAILABLE, "the database's disk is full: its operator must make room"),
    "25006": (Reason.DATABASE_UNAVAILABLE, "the database is read-only: its operator must look at it"),
}


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turns what the driver raises into domain errors; what is not in the table stays a fault of ours."""
    try:
        yield
    except PoolTimeout as error:
        message = "no database connection became free in time: try again shortly"
        raise DomainError(Reason.DATABASE_UNAVAILABLE, message) from error
    except psycopg.Error as error:
        known = REASON_BY_STATE.get(error.sqlstate or "")
        if known:
            raise DomainError(*known) from error
        if isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08").startswith("08"):
            raise DomainError(Reason.DATABASE_UNAVAILABLE, UNAVAILABLE) from error
        raise
