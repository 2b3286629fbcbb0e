"""Plans that must hold on a database nobody has analysed yet."""

from uuid import UUID

import psycopg
import pytest

from ricordo_server.embedded import EmbeddedPostgres
from tests.fixtures.database import TestDatabase, clone_database


@pytest.fixture(scope="module")
def fresh(postgres: EmbeddedPostgres, worker_id: str) -> TestDatabase:
    """A clone of this module's own: what other tests write in theirs may get analysed in between."""
    name = f"ricordo_fresh_{worker_id}"
    clone_database(postgres, name)
    return TestDatabase(postgres, name)


TENANT = UUID(int=1)


@pytest.mark.parametrize(
    ("table", "column"), [("session", "scope_key"), ("turn", "turn_id"), ("memory", "memory_id")]
)
def test_a_foreign_key_is_checked_by_the_primary_key(fresh: TestDatabase, table: str, column: str) -> None:
    """As PostgreSQL asks it: a plan made before the tenant is known."""
    check = f"SELECT 1 FROM ricordo.{table} x WHERE project_id = $1 AND store_id = $2 AND {column} = $3"
    with psycopg.connect(fresh.superuser_url) as connection:
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute(f"PREPARE check_key (uuid, uuid, text) AS {check} FOR KEY SHARE OF x")
        explain = f"EXPLAIN EXECUTE check_key ('{TENANT}', '{TENANT}', 'x')"
        plan = "\n".join(str(line) for (line,) in connection.execute(explain))
        connection.execute("DEALLOCATE check_key")
    assert f"({column} = $3)" in plan.partition("Index Cond: ")[2].partition("\n")[0]
