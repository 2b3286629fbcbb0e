"""Every clause of every policy is missed: each policy is broken in turn, and the walls' probes must report it.

A mutant lives in a transaction that is rolled back; SET ROLE puts the superuser under the policies.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ricordo_server import embedded
from ricordo_server.db.tables import STORE_TABLES
from tests.fixtures.database import TestDatabase, clone_database
from tests.isolation import probes
from tests.isolation.tenants import Tenants, settle

pytestmark = pytest.mark.xdist_group("policy_mutations")

Connection = psycopg.Connection[Any]

# The clauses as PostgreSQL prints them. In the sub-selects project and store of the row's parent are left out: the
# parent's own policy says them again.
PRINCIPAL = r"ANY \(\(current_setting\('ricordo.principal_ids'::text\)\)::text\[\]\)\)"
SETTING = re.compile(r"current_setting\(('[a-z_.]+')::text\)")
CLAUSES = {
    name: re.compile(pattern)
    for name, pattern in {
        "project": r"\(project_id = \(current_setting\('ricordo.project_id'::text\)\)::uuid\)",
        "store": r"\(store_id = \(current_setting\('ricordo.store_id'::text\)\)::uuid\)",
        "any user": r"\(current_setting\('ricordo.any_user'::text\)\)::boolean",
        "may write": r"\(current_setting\('ricordo.may_write'::text\)\)::boolean",
        "may administer": r"\(current_setting\('ricordo.may_administer'::text\)\)::boolean",
        "writable": r"\(current_setting\('ricordo.store_writable'::text\)\)::boolean",
        "may publish": r"\(current_setting\('ricordo.may_publish'::text\)\)::boolean",
        "principal": r"\(principal_id = " + PRINCIPAL,
        "grantee": r"\(store_grant.principal_id = " + PRINCIPAL,
        "creator": r"\((?:store_)?creator_id = " + PRINCIPAL,
        "private": r"\(visibility = 'PRIVATE'::text\)",
        "open": r"\(access = 'OPEN'::text\)",
        "own": r"\((?:memory\.)?user_id = ANY \(\(current_setting\('ricordo.user_ids'::text\)\)::text\[\]\)\)",
        "words": r"\(tsv @@ \(current_setting\('ricordo.text_query'::text\)\)::tsquery\)",
        "shared": r"\(visibility = 'PROJECT'::text\)",
        "granted store": r"\(store_grant\.store_id = store\.store_id\)",
        "parent": r"\(\w+\.(memory_id|turn_id|scope_key) = \w+\.\1\)",
    }.items()
}
WITHOUT_SETTING = ("shared", "parent", "private", "open", "granted store")

# What no statement can tell from the sound policy.
EQUIVALENT = {
    # The clause is not about the row, so USING has refused before.
    *(f"{table}.app_update WITH CHECK: writable -> true" for table in STORE_TABLES),
    *(
        f"{table}.app_update WITH CHECK: may write -> true"
        for table in ("idempotency", *probes.STORES, *probes.ACCOUNTS)
    ),
    *(f"{table}.app_update WITH CHECK: any user -> true" for table in (*probes.STORES, *probes.PIPELINES)),
    *(f"{table}.app_update WITH CHECK: may administer -> true" for table in probes.ACCOUNTS),
    # These columns are not granted for UPDATE, and the store's creator is held by a foreign key.
    *(f"{table}.app_update WITH CHECK: project -> true" for table in probes.STORES),
    *(f"store_grant.app_update WITH CHECK: {clause} -> true" for clause in ("creator", "may administer")),
    "store_grant.app_update WITH CHECK: all true",
    # The policy of the grants says it again.
    "store.app_select USING: grantee -> true",
}


@dataclass(frozen=True)
class Mutant:
    name: str
    statement: sql.Composed


@dataclass(frozen=True)
class Policy:
    table: str
    name: str
    using: str | None
    check: str | None

    def mutants(self) -> Iterator[Mutant]:
        whole = f"{self.table}.{self.name}"
        yield Mutant(f"{whole} dropped", self._compose("DROP POLICY {} ON ricordo.{}"))
        for part, expression in (("USING", self.using), ("WITH CHECK", self.check)):
            if expression:
                for name, broken in (*break_expression(expression), *self._soften(part, expression)):
                    altered = self._compose("ALTER POLICY {} ON ricordo.{} ") + sql.SQL(f"{part} ({broken})")
                    yield Mutant(f"{whole} {part}: {name}", altered)

    def _soften(self, part: str, expression: str) -> Iterator[tuple[str, str]]:
        """Optional settings, where nothing else raises the error: USING for a check, a memory for its revision."""
        if self.table != "memory_revision" and not (part == "WITH CHECK" and self.using):
            yield "optional settings", SETTING.sub(r"nullif(current_setting(\1, true), '')", expression)

    def _compose(self, statement: str) -> sql.Composed:
        return sql.SQL(statement).format(sql.Identifier(self.name), sql.Identifier(self.table))


def break_expression(expression: str) -> Iterator[tuple[str, str]]:
    """Each clause made true and made false, and the whole made true."""
    yield "all true", "true"
    for name, clause in CLAUSES.items():
        for found in clause.finditer(expression):
            for value in ("true", "false"):
                broken = expression[: found.start()] + value + expression[found.end() :]
                yield f"{name} -> {value}", broken


@pytest.fixture(scope="module")
def clone(postgres: embedded.EmbeddedPostgres, worker_id: str) -> TestDatabase:
    name = f"ricordo_mutations_{worker_id}"
    clone_database(postgres, name)
    return TestDatabase(postgres, name)


@pytest.fixture(scope="module")
def tenants(clone: TestDatabase) -> Tenants:
    return settle(clone.superuser_url)


@pytest.fixture(scope="module")
def superuser(clone: TestDatabase) -> Iterator[Connection]:
    with psycopg.connect(clone.superuser_url) as connection:
        yield connection


@pytest.fixture(scope="module")
def policies(superuser: Connection) -> list[Policy]:
    found = superuser.execute(
        "SELECT tablename, policyname, qual, with_check FROM pg_policies"
        " WHERE schemaname = 'ricordo' AND roles && '{ricordo_app,ricordo_text,public}' ORDER BY 1, 2"
    )
    return [Policy(*row) for row in found]


def findings(connection: Connection, tenants: Tenants, table: str) -> Iterator[str]:
    for probe, tables in probes.PROBES.items():
        if table in tables:
            yield from probe(connection, tenants, table)


def survivors(connection: Connection, tenants: Tenants, policy: Policy) -> list[str]:
    """The mutants that no probe reports."""
    found = []
    for mutant in policy.mutants():
        with connection.transaction(force_rollback=True):
            connection.execute(mutant.statement)
            if not any(findings(connection, tenants, policy.table)):
                found.append(mutant.name)
    return found


def test_the_probes_report_nothing_on_sound_policies(superuser: Connection, tenants: Tenants) -> None:
    assert [each for table in probes.TABLES for each in findings(superuser, tenants, table)] == []


@pytest.mark.parametrize("table", probes.TABLES)
def test_every_broken_policy_is_reported(
    table: str, superuser: Connection, tenants: Tenants, policies: list[Policy]
) -> None:
    own = [policy for policy in policies if policy.table == table]
    assert own
    survived = {name for policy in own for name in survivors(superuser, tenants, policy)}
    assert survived == {name for name in EQUIVALENT if name.startswith(f"{table}.")}


def test_every_policy_belongs_to_a_table_that_is_probed(policies: list[Policy]) -> None:
    assert {policy.table for policy in policies} == set(probes.TABLES)


def test_every_setting_of_a_policy_is_broken_once(policies: list[Policy]) -> None:
    """A clause that CLAUSES does not know would never be tried."""
    for policy in policies:
        for expression in filter(None, (policy.using, policy.check)):
            counts = {name: len(clause.findall(expression)) for name, clause in CLAUSES.items()}
            known = sum(count for name, count in counts.items() if name not in WITHOUT_SETTING)
            assert known == len(SETTING.findall(expression)), expression


@pytest.mark.parametrize("table", probes.TABLES)
def test_a_table_without_row_level_security_is_reported(
    table: str, superuser: Connection, tenants: Tenants
) -> None:
    statement = sql.SQL("ALTER TABLE ricordo.{} DISABLE ROW LEVEL SECURITY").format(sql.Identifier(table))
    with superuser.transaction(force_rollback=True):
        superuser.execute(statement)
        assert any(findings(superuser, tenants, table))


@pytest.mark.parametrize("table", probes.TABLES)
def test_an_additional_policy_is_reported(table: str, superuser: Connection, tenants: Tenants) -> None:
    statement = sql.SQL("CREATE POLICY generous ON ricordo.{} TO PUBLIC USING (true)").format(
        sql.Identifier(table)
    )
    with superuser.transaction(force_rollback=True):
        superuser.execute(statement)
        assert any(findings(superuser, tenants, table))
