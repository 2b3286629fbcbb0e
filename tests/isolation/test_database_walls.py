"""Two projects, two stores, two users on the real database: nobody reaches what is not theirs."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ricordo_server.db.tables import METADATA, PARTITIONED, PROJECT_TABLES, STORE_TABLES
from tests.fixtures.database import PARTITIONS, TestDatabase
from tests.isolation import probes
from tests.isolation.tenants import Tenants, settle

PROTECTED = (*PROJECT_TABLES, *STORE_TABLES)
PARTS = [f"{table}_p{number}" for table in PARTITIONED for number in range(PARTITIONS)]
COMMANDS = ("SELECT", "INSERT", "UPDATE", "DELETE")

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def tenants(database: TestDatabase) -> Tenants:
    return settle(database.superuser_url)


@pytest.fixture
def app(database: TestDatabase) -> Iterator[Connection]:
    with psycopg.connect(database.app_url) as connection:
        yield connection


@pytest.fixture
def catalogue(database: TestDatabase) -> Iterator[Connection]:
    with psycopg.connect(database.superuser_url) as connection:
        yield connection


@pytest.mark.parametrize(
    ("probe", "table"),
    [(probe, table) for probe, tables in probes.PROBES.items() for table in tables],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_no_row_is_reached_that_is_not_theirs(
    probe: probes.Probe, table: str, app: Connection, tenants: Tenants
) -> None:
    assert probe(app, tenants, table) == []


def test_every_protected_table_is_probed() -> None:
    assert set(probes.TABLES) == set(PROTECTED)


@pytest.mark.parametrize("table", PROTECTED)
def test_a_connection_that_never_entered_a_tenant_gets_an_error(
    table: str, app: Connection, tenants: Tenants
) -> None:
    for command, attempt in probes.commands(app, tenants, table).items():
        assert probes.outcome_of(app, attempt) in probes.UNSET, command


@pytest.mark.parametrize("table", STORE_TABLES)
def test_a_connection_is_outside_again_after_its_transaction(
    table: str, app: Connection, tenants: Tenants
) -> None:
    with app.transaction():
        for name, value in probes.SERVICE.settings(tenants).items():
            app.execute("SELECT set_config(%s, %s, true)", [name, value])
    for command, attempt in probes.commands(app, tenants, table).items():
        assert probes.outcome_of(app, attempt) in probes.UNSET, command


def tables_of_tenants(catalogue: Connection, condition: str = "true") -> set[str]:
    """Every table with a project, parents and partitions, also one that a later revision brings."""
    found = catalogue.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id'"
        f" WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind IN ('r', 'p') AND {condition}"
    )
    return {name for (name,) in found}


def test_every_table_of_a_tenant_is_known_to_these_tests(catalogue: Connection) -> None:
    assert tables_of_tenants(catalogue) == {*PROTECTED, *PARTS}


def test_every_table_of_a_tenant_has_row_level_security_enabled_and_forced(catalogue: Connection) -> None:
    assert tables_of_tenants(catalogue, "NOT (c.relrowsecurity AND c.relforcerowsecurity)") == set()


def test_only_parents_have_policies(catalogue: Connection) -> None:
    found = catalogue.execute("SELECT DISTINCT tablename FROM pg_policies WHERE schemaname = 'ricordo'")
    assert {name for (name,) in found} == set(PROTECTED)


@pytest.mark.parametrize("role", ["ricordo_app", "ricordo_text", "ricordo_operator"])
def test_nobody_holds_a_right_on_a_partition(role: str, catalogue: Connection) -> None:
    found = catalogue.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relispartition"
        " AND c.relkind = 'r' AND (has_any_column_privilege(%(role)s, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')"
        " OR has_table_privilege(%(role)s, c.oid, 'DELETE, TRUNCATE, TRIGGER'))",
        {"role": role},
    )
    assert found.fetchall() == []


@pytest.mark.parametrize("part", PARTS)
def test_a_partition_read_directly_is_denied(part: str, app: Connection, tenants: Tenants) -> None:
    with probes.as_role(app, "ricordo_app", probes.SERVICE.settings(tenants)):
        attempt = app.execute
        assert (
            probes.outcome_of(app, lambda: attempt(f"SELECT FROM ricordo.{part}").rowcount) == probes.DENIED
        )


@pytest.mark.parametrize("table", METADATA.tables)
def test_no_role_may_do_what_policies_do_not_see(table: str, catalogue: Connection) -> None:
    """TRUNCATE and foreign keys pass by every policy."""
    for role in ("ricordo_app", "ricordo_text", "ricordo_operator"):
        statement = "SELECT has_table_privilege(%s, %s, 'TRUNCATE, REFERENCES, TRIGGER')"
        assert catalogue.execute(statement, [role, table]).fetchone() == (False,), role


@pytest.mark.parametrize("table", STORE_TABLES)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_operator_has_no_right_on_a_store_table(table: str, command: str, catalogue: Connection) -> None:
    statement = "SELECT has_table_privilege('ricordo_operator', %s, %s)"
    assert catalogue.execute(statement, [f"ricordo.{table}", command]).fetchone() == (False,)


@pytest.mark.parametrize("table", PROTECTED)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_text_role_reads_what_is_searched_and_nothing_else(
    table: str, command: str, catalogue: Connection
) -> None:
    statement = "SELECT has_table_privilege('ricordo_text', %s, %s)"
    expected = table in probes.SEARCHED and command == "SELECT"
    assert catalogue.execute(statement, [f"ricordo.{table}", command]).fetchone() == (expected,)


@pytest.mark.parametrize("role", ["ricordo_app", "ricordo_text", "ricordo_operator"])
def test_no_serving_role_stands_above_the_policies(role: str, catalogue: Connection) -> None:
    facts = catalogue.execute(
        "SELECT rolsuper, rolbypassrls, rolinherit, rolcreaterole, rolcreatedb, rolreplication,"
        " EXISTS (SELECT FROM pg_class WHERE relnamespace = 'ricordo'::regnamespace AND relowner = r.oid)"
        " FROM pg_roles r WHERE rolname = %s",
        [role],
    )
    assert facts.fetchone() == (False,) * 7


def test_the_app_role_may_enter_the_text_role_but_does_not_inherit_it(catalogue: Connection) -> None:
    facts = catalogue.execute(
        "SELECT pg_has_role('ricordo_app', 'ricordo_text', 'MEMBER'),"
        " pg_has_role('ricordo_app', 'ricordo_text', 'USAGE')"
    )
    assert facts.fetchone() == (True, False)


@pytest.mark.parametrize("role", ["ricordo_owner", "ricordo_operator"])
def test_the_app_role_may_enter_no_stronger_role(role: str, app: Connection) -> None:
    assert probes.outcome_of(app, lambda: app.execute(f"SET ROLE {role}").rowcount) == probes.DENIED


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ("language = 'german', settings = '{}', revision = 2, update_time = now()", 1),
        ("display_name = 'x'", probes.DENIED),
        ("organization_id = project_id", probes.DENIED),
        ("project_id = organization_id", probes.DENIED),
    ],
)
def test_of_a_project_the_app_changes_the_settings_only(
    change: str, outcome: int | str, app: Connection, tenants: Tenants
) -> None:
    with probes.as_role(app, "ricordo_app", probes.SERVICE.settings(tenants)):
        attempt = app.execute
        assert (
            probes.outcome_of(app, lambda: attempt(f"UPDATE ricordo.project SET {change}").rowcount)
            == outcome
        )


@pytest.mark.parametrize("command", ["INSERT", "DELETE"])
def test_no_project_comes_or_goes_by_the_app(command: str, catalogue: Connection) -> None:
    statement = "SELECT has_table_privilege('ricordo_app', 'ricordo.project', %s)"
    assert catalogue.execute(statement, [command]).fetchone() == (False,)


def test_who_holds_the_settings_holds_those_of_its_own_project_only(
    app: Connection, tenants: Tenants
) -> None:
    """The function acts as the owner: on the project that was entered, and with none it is an error."""
    for who in probes.EVERY_WHO:
        with probes.as_role(app, "ricordo_app", who.settings(tenants)):
            assert app.execute("SELECT ricordo.hold_settings()").fetchall() == [("{}",)]
    assert (
        probes.outcome_of(app, lambda: app.execute("SELECT ricordo.hold_settings()").rowcount) in probes.UNSET
    )


def test_the_text_role_holds_no_settings(catalogue: Connection) -> None:
    for role in ("ricordo_text", "ricordo_operator", "public"):
        statement = "SELECT has_function_privilege(%s, 'ricordo.hold_settings()', 'EXECUTE')"
        assert catalogue.execute(statement, [role]).fetchone() == (False,)
