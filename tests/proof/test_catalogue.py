"""Every table and partition of a tenant stands behind forced row-level security; without a tenant none is reached."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ricordo_server.db.tables import PARTITIONED, PROJECT_TABLES, STORE_TABLES
from tests.fixtures.database import PARTITIONS, TestDatabase
from tests.isolation.tenants import settle
from tests.proof.conftest import Tally

RELATIONS = """
SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
  (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid),
  c.relispartition,
  has_table_privilege('ricordo_app', c.oid, 'SELECT, INSERT, UPDATE, DELETE')
    OR has_table_privilege('ricordo_text', c.oid, 'SELECT')
    OR has_table_privilege('ricordo_operator', c.oid, 'SELECT'),
  pg_get_userbyid(c.relowner)
FROM pg_class c
WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind IN ('r', 'p')
  AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'project_id')
"""
ROLES = (
    "SELECT rolname, rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolinherit FROM pg_roles"
    " WHERE rolname IN ('ricordo_app', 'ricordo_text', 'ricordo_operator')"
)
STATEMENTS = (
    "SELECT * FROM ricordo.{}",
    "UPDATE ricordo.{} SET project_id = project_id",
    "DELETE FROM ricordo.{}",
)
# Nothing set, or as a pooled connection is after a transaction.
STATES = {
    "fresh": (),
    "after another": ("SET LOCAL ricordo.project_id = ''", "SET LOCAL ricordo.store_id = ''"),
}


def test_relations_and_roles(database: TestDatabase, tally: Tally) -> None:
    with psycopg.connect(database.superuser_url) as connection:
        for name, forced, policies, is_partition, granted, owner in connection.execute(RELATIONS).fetchall():
            walls = forced and owner == "ricordo_owner"
            tally.count(walls and (is_partition == (policies == 0) == (not granted)), name)
        for role, has_power in connection.execute(ROLES).fetchall():
            tally.count(not has_power, role)
    assert not tally.failures
    assert tally.cases >= len(PROJECT_TABLES) + len(STORE_TABLES) + len(PARTITIONED) * PARTITIONS


@pytest.fixture
def app(database: TestDatabase) -> Iterator[psycopg.Connection[Any]]:
    settle(database.superuser_url)
    with psycopg.connect(database.app_url) as connection:
        yield connection


def test_without_a_tenant_every_statement_is_an_error(app: psycopg.Connection[Any], tally: Tally) -> None:
    for state, preparation in STATES.items():
        for table in (*PROJECT_TABLES, *STORE_TABLES):
            for statement in STATEMENTS:
                for one in preparation:
                    app.execute(one)
                try:
                    app.execute(statement.format(table))
                    outcome = "no error"
                except psycopg.Error as error:
                    outcome = error.sqlstate or ""
                app.rollback()
                tally.count(outcome in ("42704", "22P02", "42501"), (state, table, statement, outcome))
    assert not tally.failures
