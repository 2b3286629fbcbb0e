"""Databases of a test's own, on the run's server."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from ricordo_server import embedded
from tests.fixtures.database import TestDatabase, clone_database


def make_empty_database(server: embedded.EmbeddedPostgres) -> TestDatabase:
    """As `bootstrap` leaves it: the owner's, with the extension."""
    made = TestDatabase(server, f"ricordo_{uuid4().hex}")
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        statement = sql.SQL("CREATE DATABASE {} OWNER ricordo_owner TEMPLATE template0 ENCODING 'UTF8'")
        connection.execute(statement.format(sql.Identifier(made.name)))
    with psycopg.connect(made.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    return made


def make_clone(server: embedded.EmbeddedPostgres) -> TestDatabase:
    made = TestDatabase(server, f"ricordo_{uuid4().hex}")
    clone_database(server, made.name)
    return made


def drop_database(database: TestDatabase) -> None:
    with psycopg.connect(database.server.superuser_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database.name)))


@pytest.fixture
def empty_database(postgres: embedded.EmbeddedPostgres) -> Iterator[TestDatabase]:
    made = make_empty_database(postgres)
    yield made
    drop_database(made)


@pytest.fixture
def clone(postgres: embedded.EmbeddedPostgres) -> Iterator[TestDatabase]:
    made = make_clone(postgres)
    yield made
    drop_database(made)
