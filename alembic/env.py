"""Runs revisions as `ricordo_owner` on the connection that `ricordo migrate` hands over."""

from alembic import context
from sqlalchemy import text

from ricordo_server.db.tables import METADATA

# A migration that waits for a lock makes everyone behind it wait too; better to fail and run again.
LOCK_TIMEOUT = "4s"
STATEMENT_TIMEOUT = "10min"


def run() -> None:
    connection = context.config.attributes["connection"]
    connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
    connection.execute(text("SET ROLE ricordo_owner"))
    connection.execute(text("CREATE SCHEMA IF NOT EXISTS ricordo"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=METADATA,
        version_table="revision",
        version_table_schema="ricordo",
        include_schemas=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


run()
