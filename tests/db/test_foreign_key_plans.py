"""Plans that must hold on a database nobody has analysed yet."""

import psycopg
import pytest


@pytest.mark.parametrize(
    ("table", "column"), [("session", "scope_key"), ("turn", "turn_id"), ("memory", "memory_id")]
)
def test_a_foreign_key_is_checked_by_the_primary_key(database, project_id, table, column):
    """As PostgreSQL asks it: a plan made before the tenant is known."""
    check = f"SELECT 1 FROM ricordo.{table} x WHERE project_id = $1 AND store_id = $2 AND {column} = $3"
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute(f"PREPARE check_key (uuid, uuid, text) AS {check} FOR KEY SHARE OF x")
        explain = f"EXPLAIN EXECUTE check_key ('{project_id}', '{project_id}', 'x')"
        plan = "\n".join(str(line) for (line,) in connection.execute(explain))
        connection.execute("DEALLOCATE check_key")
    assert f"({column} = $3)" in plan.partition("Index Cond: ")[2].partition("\n")[0]
