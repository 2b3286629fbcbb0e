"""Bootstrap, revisions and embedding models: what an operator runs, never the server."""

from functools import partial
from importlib import resources
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

DEFAULT_PARTITIONS = 16
OWNER_ROLE, APP_ROLE, TEXT_ROLE, OPERATOR_ROLE = (
    "ricordo_owner",
    "ricordo_app",
    "ricordo_text",
    "ricordo_operator",
)


def bootstrap(superuser_url: str, database: str, *, app_password: str, operator_password: str) -> None:
    """Makes the roles, the database and the extension; run once as superuser, harmless when repeated."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        _make_roles(connection, app_password, operator_password)
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone():
            statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'UTF8'")
            connection.execute(statement.format(sql.Identifier(database), sql.Identifier(OWNER_ROLE)))
    with psycopg.connect(superuser_url, dbname=database, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


def _make_roles(connection: psycopg.Connection, app_password: str, operator_password: str) -> None:
    """NOINHERIT before the grant: an inheriting app role would always be under the text role's policies too.

    Revoked first, since to grant again leaves an inheriting grant of PostgreSQL 16 and later as it is.
    """
    login = {APP_ROLE: app_password, OPERATOR_ROLE: operator_password}
    for role in (OWNER_ROLE, APP_ROLE, TEXT_ROLE, OPERATOR_ROLE):
        name = sql.Identifier(role)
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
            connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN NOINHERIT").format(name))
        if role in login:
            statement = sql.SQL("ALTER ROLE {} LOGIN NOINHERIT PASSWORD {}")
            connection.execute(statement.format(name, sql.Literal(login[role])))
    names = {"text": sql.Identifier(TEXT_ROLE), "app": sql.Identifier(APP_ROLE)}
    with connection.transaction():
        connection.execute(sql.SQL("REVOKE {text} FROM {app}").format(**names))
        connection.execute(sql.SQL("GRANT {text} TO {app}").format(**names))


def migrate(owner_url: str, *, revision: str = "head", partitions: int = DEFAULT_PARTITIONS) -> None:
    """Brings the schema to `revision` as ricordo_owner.

    Args:
        owner_url: `postgresql://` URL of a login that may SET ROLE ricordo_owner.
        partitions: hash partitions of the large tables; only the first migration uses it.
    """
    # Imported here: it takes half a second, which every command would pay.
    from alembic import command
    from alembic.config import Config

    connect = partial(psycopg.connect, owner_url)  # libpq reads the URL, so any form it knows will do
    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    with engine.connect() as connection:
        config = Config()
        config.set_main_option("script_location", str(revisions_folder()))
        config.attributes.update(connection=connection, partitions=partitions)
        command.upgrade(config, revision)


def revisions_folder() -> Path:
    """The folder shipped in the wheel, else the checkout's."""
    shipped = Path(str(resources.files("ricordo_server"))) / "alembic"
    return shipped if shipped.is_dir() else Path(__file__).resolve().parents[3] / "alembic"


def register_embedding_model(owner_url: str, name: str, dimension: int) -> int:
    """Stores a model and builds its HNSW indexes; answers its id, also when it was there.

    Raises:
        ValueError: the name is registered with another dimension.
    """
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("SET ROLE ricordo_owner")
        known = connection.execute(
            "SELECT model_id, dimension FROM ricordo.embedding_model WHERE name = %s", [name]
        ).fetchone()
        if known and known[1] != dimension:
            raise ValueError(
                f"embedding model {name} is registered with dimension {known[1]}, not {dimension}"
            )
        model_id = int(known[0]) if known else _insert_model(connection, name, dimension)
        for table in ("turn_embedding", "memory_embedding"):
            _index_model(connection, table, model_id, dimension)
        return model_id


def _insert_model(connection: psycopg.Connection, name: str, dimension: int) -> int:
    row = connection.execute(
        "INSERT INTO ricordo.embedding_model (model_id, name, dimension)"
        " SELECT coalesce(max(model_id), 0) + 1, %s, %s FROM ricordo.embedding_model RETURNING model_id",
        [name, dimension],
    ).fetchone()
    assert row is not None  # noqa: S101 - INSERT ... RETURNING gives a row
    return int(row[0])


def _index_model(connection: psycopg.Connection, table: str, model_id: int, dimension: int) -> None:
    """Per partition and concurrently, then attached: a parent cannot be indexed concurrently."""
    parent = f"{table}_model_{model_id}"
    template = sql.SQL(
        "USING hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops) WHERE model_id = {model}"
    )
    definition = template.format(dimension=sql.Literal(dimension), model=sql.Literal(model_id))
    connection.execute(
        sql.SQL("CREATE INDEX IF NOT EXISTS {} ON ONLY ricordo.{} {}").format(
            sql.Identifier(parent), sql.Identifier(table), definition
        )
    )
    partitions = connection.execute(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = %s::regclass ORDER BY 1",
        [f"ricordo.{table}"],
    ).fetchall()
    for (partition,) in partitions:
        index = f"{partition}_model_{model_id}"
        connection.execute(
            sql.SQL("CREATE INDEX CONCURRENTLY IF NOT EXISTS {} ON ricordo.{} {}").format(
                sql.Identifier(index), sql.Identifier(partition), definition
            )
        )
        connection.execute(
            sql.SQL("ALTER INDEX ricordo.{} ATTACH PARTITION ricordo.{}").format(
                sql.Identifier(parent), sql.Identifier(index)
            )
        )
