"""What the server finds before it serves: one unsafe database for each finding."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo, sql

from ricordo_server.db.checks import find_faults, find_model
from ricordo_server.db.connection import open_pool
from tests.fixtures.database import MODEL, TestDatabase


async def faults_of(url: str) -> str:
    pool = await open_pool(url, size=1)
    try:
        return "; ".join(await find_faults(pool))
    finally:
        await pool.close()


def change(database: TestDatabase, statement: str) -> None:
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(statement)


@contextmanager
def login(database: TestDatabase, attributes: str, *, member_of: str = "") -> Iterator[str]:
    """The URL of a role of its own, gone afterwards: those of the run are every worker's."""
    name = f"role_{uuid4().hex}"
    role = sql.Identifier(name)
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'p' " + attributes).format(role))
        if member_of:
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(member_of), role))
        try:
            yield database.server.url(name, "p", database.name)
        finally:
            connection.execute(
                sql.SQL("REASSIGN OWNED BY {0} TO ricordo_owner; DROP OWNED BY {0}; DROP ROLE {0}").format(
                    role
                )
            )


async def test_a_sound_database_has_no_fault(database: TestDatabase) -> None:
    assert await faults_of(database.app_url) == ""


async def test_a_superuser_is_refused(database: TestDatabase) -> None:
    found = await faults_of(database.superuser_url)
    assert "its role is superuser" in found
    assert "connect as ricordo_app" in found


async def test_a_role_that_bypasses_policies_is_refused(database: TestDatabase) -> None:
    with login(database, "BYPASSRLS") as url:
        assert "BYPASSRLS" in await faults_of(url)


async def test_a_role_that_inherits_the_text_role_is_refused(database: TestDatabase) -> None:
    with login(database, "INHERIT", member_of="ricordo_text") as url:
        assert "inherits ricordo_text" in await faults_of(url)


async def test_a_role_that_reaches_the_queue_is_refused(clone: TestDatabase) -> None:
    change(clone, "GRANT USAGE ON SCHEMA procrastinate TO ricordo_app")
    assert "may reach the job queue of every project" in await faults_of(clone.app_url)


async def test_a_role_that_owns_a_table_is_refused(clone: TestDatabase) -> None:
    with login(clone, "NOINHERIT") as url:
        change(clone, f"ALTER TABLE ricordo.session OWNER TO {conninfo.conninfo_to_dict(url)['user']}")
        assert "owns tables" in await faults_of(url)


async def test_a_database_without_schema_is_refused(empty_database: TestDatabase) -> None:
    assert "the schema `ricordo` is missing" in await faults_of(empty_database.app_url)


UNSAFE = {
    "ALTER TABLE ricordo.memory DISABLE ROW LEVEL SECURITY": "memory has no forced row-level security",
    "ALTER TABLE ricordo.memory NO FORCE ROW LEVEL SECURITY": "memory has no forced row-level security",
    "ALTER TABLE ricordo.store NO FORCE ROW LEVEL SECURITY": "store has no forced row-level security",
    "ALTER TABLE ricordo.turn_p0 NO FORCE ROW LEVEL SECURITY": "turn_p0 has no forced row-level security",
    "GRANT SELECT ON ricordo.memory_p1 TO ricordo_app": "memory_p1 is a partition with a grant",
    "GRANT SELECT ON ricordo.turn_embedding_p1 TO ricordo_text": "turn_embedding_p1 is a partition with a grant",
    "GRANT DELETE ON ricordo.memory_p1 TO PUBLIC": "memory_p1 is a partition with a grant",
    "GRANT TRUNCATE ON ricordo.session TO ricordo_app": "session has a grant that passes by every policy",
    "DROP POLICY app_select ON ricordo.session": "session has no policy for ricordo_app",
    "CREATE POLICY all_see ON ricordo.turn USING (true)": "turn has a policy that is none of ours",
    "CREATE POLICY all_see ON ricordo.turn TO ricordo_text USING (true)": "turn has a policy that is none of ours",
    "CREATE TABLE ricordo.note (project_id uuid)": "note has no forced row-level security",
}


@pytest.mark.parametrize("statement", UNSAFE)
async def test_an_unsafe_table_is_refused(clone: TestDatabase, statement: str) -> None:
    change(clone, statement)
    assert UNSAFE[statement] in await faults_of(clone.app_url)


async def test_a_model_is_found_by_its_name(database: TestDatabase) -> None:
    pool = await open_pool(database.app_url, size=1)
    assert await find_model(pool, MODEL.name) == MODEL
    assert await find_model(pool, "another") is None
    await pool.close()
