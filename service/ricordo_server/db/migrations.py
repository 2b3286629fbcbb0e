"""Bootstrap, revisions and embedding models: what an operator runs, never the server."""

from collections.abc import Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

DEFAULT_PARTITIONS = 16
# What an HNSW index over halfvec takes.
MAX_DIMENSION = 4_000
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


def register_embedding_model(
    owner_url: str,
    name: str,
    dimension: int,
    settings: Mapping[str, Any] | None = None,
    *,
    default: bool = False,
) -> int:
    """Stores a model with how to reach it, and builds its HNSW indexes; answers its id, also when it was there.

    Args:
        owner_url: as for `migrate`.
        name: its identity: vectors of two names are never compared.
        dimension: numbers a vector.
        settings: what a server loads its embedder by.
        default: new projects get it from now on; those that are there keep what they have.

    Raises:
        ValueError: the dimension is one that cannot be indexed, or not the one the name is registered with.
    """
    if not 1 <= dimension <= MAX_DIMENSION:
        raise ValueError(
            f"embedding model {name} has dimension {dimension}: an index takes 1 to {MAX_DIMENSION}; "
            "let the model shorten its vectors, or use another"
        )
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("SET ROLE ricordo_owner")
        model_id, known = _store_model(connection, name, dimension, settings or {})
        if known != dimension:
            raise ValueError(f"embedding model {name} is registered with dimension {known}, not {dimension}")
        for table in ("turn_embedding", "memory_embedding"):
            _index_model(connection, table, model_id, dimension)
        if default:
            _make_default(connection, model_id)
        return model_id


def _store_model(
    connection: psycopg.Connection, name: str, dimension: int, settings: Mapping[str, Any]
) -> tuple[int, int]:
    """The model's number, and the dimension that it is known with."""
    row = connection.execute(
        "INSERT INTO ricordo.embedding_model AS m (model_id, name, dimension, settings)"
        " SELECT coalesce(max(model_id), 0) + 1, %s, %s, %s FROM ricordo.embedding_model"
        " ON CONFLICT (name) DO UPDATE SET settings ="
        " CASE WHEN m.dimension = excluded.dimension THEN excluded.settings ELSE m.settings END"
        " RETURNING model_id, dimension",
        [name, dimension, Jsonb(dict(settings))],
    ).fetchone()
    assert row is not None  # noqa: S101 - INSERT ... DO UPDATE ... RETURNING gives a row
    return int(row[0]), int(row[1])


def _make_default(connection: psycopg.Connection, model_id: int) -> None:
    """A project without a model is one from before the first."""
    with connection.transaction():
        connection.execute("UPDATE ricordo.embedding_model SET is_default = false WHERE is_default")
        connection.execute(
            "UPDATE ricordo.embedding_model SET is_default = true WHERE model_id = %s", [model_id]
        )
        connection.execute(
            "UPDATE ricordo.project SET active_model_id = %s WHERE active_model_id IS NULL", [model_id]
        )


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
        _drop_unfinished(connection, index)
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


def _drop_unfinished(connection: psycopg.Connection, index: str) -> None:
    """An index whose building was interrupted stays behind, serves nobody, and would count as there."""
    found = connection.execute(
        "SELECT FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid",
        [f"ricordo.{index}"],
    ).fetchone()
    if found is not None:
        connection.execute(sql.SQL("DROP INDEX CONCURRENTLY ricordo.{}").format(sql.Identifier(index)))
