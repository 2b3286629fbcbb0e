"""Revisions: from nothing, from each earlier revision with rows in place, and once more."""

from typing import Any

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from ricordo_server import embedded
from ricordo_server.db.checks import find_faults
from ricordo_server.db.connection import DIALECT, open_pool
from ricordo_server.db.migrations import bootstrap, migrate, register_embedding_model, revisions_folder
from ricordo_server.db.tables import METADATA, PARTITIONED, PROJECT_TABLES, STORE_TABLES
from tests.fixtures.database import MODEL, PARTITIONS, TestDatabase
from tests.isolation.tenants import Tenants, insert_row


def list_revisions() -> list[str]:
    """Oldest first."""
    config = Config()
    config.set_main_option("script_location", str(revisions_folder()))
    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]


REVISIONS = list_revisions()

COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, NULL), a.attnotnull
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'revision'
"""
PRIMARY_KEYS = """
SELECT c.relname, array_agg(a.attname::text ORDER BY place)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid, unnest(k.conkey) WITH ORDINALITY AS part (number, place)
JOIN pg_attribute a ON a.attnum = number
WHERE k.contype = 'p' AND a.attrelid = k.conrelid AND c.relnamespace = 'ricordo'::regnamespace
  AND NOT c.relispartition AND c.relname <> 'revision'
GROUP BY c.relname
"""
EVERYTHING = """
SELECT c.relname, c.relkind::text, c.relacl::text, c.relrowsecurity, c.relforcerowsecurity, c.xmin::text
FROM pg_class c WHERE c.relnamespace = 'ricordo'::regnamespace
UNION ALL
SELECT p.polname, p.polcmd::text, pg_get_expr(p.polqual, p.polrelid), true, true, p.xmin::text FROM pg_policy p
UNION ALL
SELECT p.proname, p.prosrc, p.proacl::text, true, true, p.xmin::text FROM pg_proc p
WHERE p.pronamespace = 'ricordo'::regnamespace
ORDER BY 1, 2, 3
"""


def read(database: TestDatabase, statement: str) -> list[Any]:
    with psycopg.connect(database.superuser_url) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.parametrize("partitions", [1, 4, 16])
async def test_an_empty_database_is_made_safe_to_serve(empty_database: TestDatabase, partitions: int) -> None:
    migrate(empty_database.superuser_url, partitions=partitions)
    counts = read(
        empty_database,
        "SELECT inhparent::regclass::text, count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent"
        " WHERE c.relkind = 'p' GROUP BY 1",
    )
    assert dict(counts) == {f"ricordo.{table}": partitions for table in PARTITIONED}
    pool = await open_pool(empty_database.app_url, size=1)
    assert await find_faults(pool) == []
    await pool.close()


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_rows_of_an_earlier_revision_stay(empty_database: TestDatabase, revision: str) -> None:
    migrate(empty_database.superuser_url, revision=revision, partitions=2)
    known = {
        name for (name,) in read(empty_database, "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')")
    }
    tables = [table for table in (*PROJECT_TABLES, *STORE_TABLES) if table in known]
    tenants = Tenants()
    with psycopg.connect(empty_database.superuser_url) as connection:
        organization = {"organization_id": tenants.project_id, "display_name": "o"}
        insert_row(connection, "organization", organization)
        for table in tables:
            columns = {name for relation, name, *_ in read(empty_database, COLUMNS) if relation == table}
            for item in tenants.items(table):
                stored = {name: value for name, value in item.values.items() if name in columns}
                insert_row(connection, table, stored)

    migrate(empty_database.superuser_url)

    for table in tables:
        assert read(empty_database, f"SELECT count(*) FROM ricordo.{table}") == [(len(tenants.items(table)),)]


def test_a_second_migration_changes_nothing(empty_database: TestDatabase) -> None:
    migrate(empty_database.superuser_url, partitions=2)
    before = read(empty_database, EVERYTHING)
    migrate(empty_database.superuser_url, partitions=8)
    assert read(empty_database, EVERYTHING) == before
    assert read(empty_database, "SELECT version_num FROM ricordo.revision") == [(REVISIONS[-1],)]


def test_a_model_is_registered_once(empty_database: TestDatabase) -> None:
    migrate(empty_database.superuser_url, partitions=2)
    first = register_embedding_model(empty_database.superuser_url, MODEL.name, MODEL.dimension)
    before = read(empty_database, EVERYTHING)
    assert register_embedding_model(empty_database.superuser_url, MODEL.name, MODEL.dimension) == first
    assert read(empty_database, EVERYTHING) == before


def test_a_model_has_a_valid_index_on_every_partition(clone: TestDatabase) -> None:
    found = read(
        clone,
        "SELECT x.indrelid::regclass::text FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid"
        " JOIN pg_am m ON m.oid = c.relam WHERE m.amname = 'hnsw' AND x.indisvalid",
    )
    tables = ("ricordo.memory_embedding", "ricordo.turn_embedding")
    parts = [f"{table}_p{number}" for table in tables for number in range(PARTITIONS)]
    assert sorted(name for (name,) in found) == sorted([*tables, *parts])


def test_the_tables_of_core_are_those_of_the_database(database: TestDatabase) -> None:
    told = {
        (table.name, column.name, column.type.compile(DIALECT).lower(), not column.nullable)
        for table in METADATA.tables.values()
        for column in table.c
    }
    assert told ^ set(read(database, COLUMNS)) == set()


def test_the_primary_keys_of_core_are_those_of_the_database(database: TestDatabase) -> None:
    told = {
        (table.name, *(column.name for column in table.primary_key)) for table in METADATA.tables.values()
    }
    assert told == {(name, *columns) for name, columns in read(database, PRIMARY_KEYS)}


def test_every_table_belongs_to_the_owner(database: TestDatabase) -> None:
    found = read(
        database,
        "SELECT relname FROM pg_class WHERE relnamespace = 'ricordo'::regnamespace"
        " AND pg_get_userbyid(relowner) <> 'ricordo_owner'",
    )
    assert found == []


@pytest.mark.parametrize("table", [*PROJECT_TABLES, *STORE_TABLES])
def test_tenant_columns_lead_the_primary_key(table: str) -> None:
    columns = [column.name for column in METADATA.tables[f"ricordo.{table}"].primary_key]
    expected = ["project_id", "store_id"] if table in STORE_TABLES else ["project_id"]
    assert columns[: len(expected)] == expected


def test_the_lists_of_tables_are_complete() -> None:
    """Usage is summed over a project; it knows its store only to go with it."""
    with_store = {table.name for table in METADATA.tables.values() if "store_id" in table.c}
    with_store -= {"store", "store_grant", "usage"}  # which the project sees outside any store
    with_project = {table.name for table in METADATA.tables.values() if "project_id" in table.c}
    assert set(STORE_TABLES) == with_store
    assert set(PROJECT_TABLES) == with_project - with_store


@pytest.fixture
def own_server(tmp_path: Any) -> Any:
    """Roles are the whole server's."""
    with embedded.running(tmp_path, settings={"fsync": "off"}) as server:
        yield server


def test_bootstrap_repairs_a_grant_that_inherits(own_server: embedded.EmbeddedPostgres) -> None:
    with psycopg.connect(own_server.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE ricordo_app LOGIN INHERIT; CREATE ROLE ricordo_text NOLOGIN")
        connection.execute("GRANT ricordo_text TO ricordo_app")
        bootstrap(own_server.superuser_url, "ricordo", app_password="a", operator_password="b")
        bootstrap(own_server.superuser_url, "ricordo", app_password="a", operator_password="b")
        found = connection.execute(
            "SELECT pg_has_role('ricordo_app', 'ricordo_text', 'USAGE'),"
            " pg_has_role('ricordo_app', 'ricordo_text', 'MEMBER')"
        )
        assert found.fetchone() == (False, True)
