"""What must not be possible between tenants and between users, tried on one table; each probe answers its findings.

A probe trusts nothing but the database: its statements name no tenant, so that the policy is the only wall. Every
attempt is rolled back. The walls' tests run the probes on the schema as it is, the mutation test on broken ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from ricordo_server.db.tables import METADATA, STORE_TABLES
from tests.isolation.tenants import ALPHA, EVERYONE, OMEGA, VECTOR, Item, Tenants, insert_row

Connection = psycopg.Connection[Any]
Probe = Callable[[Connection, Tenants, str], list[str]]
Settings = Mapping[str, str]

DENIED = "42501"
# What a cast makes of the empty string, and what an unknown setting is.
UNSET = ("22P02", "42704")

# A change that no rule but a policy could refuse.
HARMLESS = {
    "project": "revision = 99",
    "store": "description = 'x'",
    "idempotency": "answer = 'x'",
    "service_account": "last_use_time = now()",
    "service_account_secret": "secret_hash = 'x'",
    "usage": "llm_tokens = 9",
    "session": "metadata = '{}'",
    "turn": "tool_name = 'x'",
    "turn_embedding": f"embedding = '{VECTOR}'",
    "memory": "title = 'x'",
    "memory_attribute": "value = 'x'",
    "memory_embedding": "kind = 'EPISODIC'",
    "memory_revision": "title = 'x'",
    "memory_source": "role = 'x'",
    "consolidation": "kind = 'x'",
}
# What makes a copy of a row a new one.
FRESH: Mapping[str, Mapping[str, Any]] = {
    "store": {"store_id": "00000000-0000-0000-0000-000000000001", "name": "fresh"},
    "idempotency": {"request_id": "fresh"},
    "service_account": {"account_id": "00000000-0000-0000-0000-000000000001", "name": "fresh"},
    "service_account_secret": {"secret_id": "fresh"},
    "usage": {"usage_id": "00000000-0000-0000-0000-000000000009"},
    "session": {"scope_key": "fresh"},
    "turn": {"turn_id": "fresh", "turn_seq": 99},
    "turn_embedding": {"chunk_no": 99},
    "memory": {"memory_id": "fresh", "scope_key": "fresh"},
    "memory_attribute": {"key": "fresh"},
    "memory_embedding": {"chunk_no": 99},
    "memory_revision": {"revision": 99},
    "memory_source": {"turn_id": "fresh"},
    "consolidation": {"scope_key": "fresh"},
}
# The column by which a row hangs on one that may be another user's, and such rows of Bob.
PARENT = {
    "turn": ("scope_key", ["bob"]),
    "turn_embedding": ("turn_id", ["bob"]),
    "memory_attribute": ("memory_id", ["bob", "bob-shared"]),
    "memory_embedding": ("memory_id", ["bob", "bob-shared"]),
    "memory_revision": ("memory_id", ["bob", "bob-shared"]),
    "memory_source": ("memory_id", ["bob", "bob-shared"]),
}
# Of its project the server changes the settings only: no row of it comes or goes.
WRITABLE = tuple(table for table in HARMLESS if table != "project")
# Not an end user's to write.
OF_SERVICES = ("store", "service_account", "service_account_secret")
OWNED = tuple(table for table in WRITABLE if table not in (*OF_SERVICES, "memory_revision", "usage"))
SEARCHED = ("memory", "turn")


@dataclass(frozen=True)
class Who:
    """A service principal when `users` is empty."""

    users: tuple[str, ...] = ()

    def settings(self, tenants: Tenants) -> dict[str, str]:
        return {
            "ricordo.project_id": str(tenants.project_id),
            "ricordo.store_id": str(tenants.store_id),
            "ricordo.any_user": "off" if self.users else "on",
            "ricordo.user_ids": "{" + ",".join(self.users) + "}",
        }

    def may_read(self, row: Item) -> bool:
        return not self.users or bool(row.readers & {EVERYONE, *self.users})

    def may_write(self, row: Item) -> bool:
        return not self.users or row.owners <= set(self.users)


SERVICE, ANN, BOTH = Who(), Who(("ann",)), Who(("ann", "bob"))
EVERY_WHO = (SERVICE, ANN, BOTH)


@contextmanager
def as_role(connection: Connection, role: str, settings: Settings) -> Iterator[None]:
    """A role that is set binds a superuser to its policies too: the mutation test needs no second login."""
    with connection.transaction(force_rollback=True):
        connection.execute(
            "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS given (name, value)",
            [["role", *settings], [role, *settings.values()]],
        )
        yield


def outcome_of(connection: Connection, attempt: Callable[[], int]) -> int | str:
    """The number of rows, or the SQLSTATE of the error."""
    try:
        with connection.transaction(force_rollback=True):
            return attempt()
    except psycopg.Error as error:
        return error.sqlstate or "?"


def _run(connection: Connection, statement: str) -> Callable[[], int]:
    return lambda: connection.execute(statement).rowcount


def _insert(connection: Connection, table: str, values: Mapping[str, Any]) -> Callable[[], int]:
    return lambda: insert_row(connection, table, values)


def _own(tenants: Tenants, table: str) -> Item:
    """A row that its own user may write, or any when users write none."""
    rows = tenants.mine(table)
    return next((row for row in rows if ANN.may_write(row)), rows[0])


def _read_keys(connection: Connection, table: str) -> set[tuple[Any, ...]]:
    columns = ", ".join(column.name for column in METADATA.tables[f"ricordo.{table}"].primary_key)
    return set(connection.execute(f"SELECT {columns} FROM ricordo.{table}").fetchall())


def find_wrong_reads(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """A read sees every row it may, and no other."""
    findings = []
    for who in EVERY_WHO:
        expected = {row.key for row in tenants.mine(table) if who.may_read(row)}
        with as_role(connection, "ricordo_app", who.settings(tenants)):
            seen: set[tuple[Any, ...]] = set()

            def read(seen: set[tuple[Any, ...]] = seen) -> int:
                seen |= _read_keys(connection, table)
                return len(seen)

            outcome = outcome_of(connection, read)
        if seen != expected:
            findings.append(f"{who} reads {outcome} of {table}, not {len(expected)}")
    return findings


def find_wrong_changes(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """UPDATE and DELETE without WHERE reach every row the principal may write, and no other."""
    findings = []
    for who in EVERY_WHO:
        expected = sum(who.may_write(row) for row in tenants.mine(table))
        statements = [f"UPDATE ricordo.{table} SET {HARMLESS[table]}"]
        statements += [f"DELETE FROM ricordo.{table}"] if table in WRITABLE else []
        for statement in statements:
            with as_role(connection, "ricordo_app", who.settings(tenants)):
                outcome = outcome_of(connection, _run(connection, statement))
            if outcome != expected:
                findings.append(f"{who}: {statement} gives {outcome}, not {expected}")
    return findings


def find_wrong_inserts(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """Rows go into the principal's own tenant only."""
    values = {**_own(tenants, table).values, **FRESH[table]}
    cases: list[tuple[Who, Mapping[str, Any], int | str]] = [
        (SERVICE, {}, 1),
        (ANN, {}, DENIED if table in OF_SERVICES else 1),
        (SERVICE, {"project_id": tenants.other_project}, DENIED),
    ]
    if table in STORE_TABLES:
        cases.append((SERVICE, {"store_id": tenants.other_store}, DENIED))
    return _try_inserts(connection, tenants, table, values, cases)


def find_impersonation(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """A bound user inserts nothing in another's name, nor in nobody's, nor on another's row."""
    values = {**_own(tenants, table).values, **FRESH[table]}
    nobody = "" if table == "idempotency" else None
    named = [{"user_id": "bob"}, {"user_id": nobody}] if table in OWNED else []
    column, rows = PARENT.get(table, ("", []))
    hung: list[dict[str, Any]] = [{column: row} for row in rows]
    bobs_own = [{**one, **other} for one in named[:1] for other in hung]
    cases = [(ANN, change, DENIED) for change in [*named, *hung, *bobs_own]]
    return _try_inserts(connection, tenants, table, values, cases)


def _try_inserts(
    connection: Connection,
    tenants: Tenants,
    table: str,
    values: Mapping[str, Any],
    cases: Sequence[tuple[Who, Mapping[str, Any], int | str]],
) -> list[str]:
    findings = []
    for who, change, expected in cases:
        with as_role(connection, "ricordo_app", who.settings(tenants)):
            outcome = outcome_of(connection, _insert(connection, table, {**values, **change}))
        if outcome != expected:
            findings.append(f"{who} inserts {change} into {table}: {outcome}, not {expected}")
    return findings


def find_moves(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """No UPDATE carries a row over to another tenant or user, or hangs it on another's row."""
    moves = [(SERVICE, f"project_id = '{tenants.other_project}'")]
    if table in STORE_TABLES:
        moves.append((SERVICE, f"store_id = '{tenants.other_store}'"))
    if table in OWNED:
        moves.append((ANN, "user_id = 'bob'"))
    column, rows = PARENT.get(table, ("", []))
    moves += [(ANN, f"{column} = '{row}'") for row in rows]
    findings = []
    for who, change in moves:
        with as_role(connection, "ricordo_app", who.settings(tenants)):
            outcome = outcome_of(connection, _run(connection, f"UPDATE ricordo.{table} SET {change}"))
        if outcome != DENIED:
            findings.append(f"{who}: UPDATE {table} SET {change} gives {outcome}")
    return findings


def find_silence(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """With a setting missing, a statement that reaches a row is an error, never an empty answer."""
    findings = []
    for settings in _lacking(tenants, table):
        for command, attempt in commands(connection, tenants, table).items():
            with as_role(connection, "ricordo_app", settings):
                outcome = outcome_of(connection, attempt)
            if outcome not in UNSET:
                missing = [name for name, value in settings.items() if not value]
                findings.append(f"{command} on {table} without {missing} gives {outcome}")
    return findings


def _lacking(tenants: Tenants, table: str) -> Iterator[Settings]:
    """The empty string is what a setting becomes after the transaction that set it."""
    complete = SERVICE.settings(tenants)
    yield dict.fromkeys(complete, "")
    yield {**complete, "ricordo.project_id": ""}
    if table in STORE_TABLES:
        yield {**complete, "ricordo.store_id": ""}
        yield {**complete, "ricordo.any_user": ""}
        yield {**complete, "ricordo.any_user": "off", "ricordo.user_ids": ""}


def commands(connection: Connection, tenants: Tenants, table: str) -> dict[str, Callable[[], int]]:
    """One statement of each command that reaches a row."""
    changing = {
        "SELECT": _run(connection, f"SELECT FROM ricordo.{table}"),
        "UPDATE": _run(connection, f"UPDATE ricordo.{table} SET {HARMLESS[table]}"),
    }
    if table not in WRITABLE:
        return changing
    return {
        **changing,
        "INSERT": _insert(connection, table, {**_own(tenants, table).values, **FRESH[table]}),
        "DELETE": _run(connection, f"DELETE FROM ricordo.{table}"),
    }


def find_wrong_text(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """ricordo_text sees what ricordo_app would, and of it only the rows with the words."""
    findings = []
    for who in EVERY_WHO:
        for words in (ALPHA, OMEGA, "absent"):
            may_see = [row for row in tenants.mine(table) if who.may_read(row) and row.words == words]
            with as_role(connection, "ricordo_text", {**who.settings(tenants), "ricordo.text_query": words}):
                outcome = outcome_of(connection, _run(connection, f"SELECT FROM ricordo.{table}"))
            if outcome != len(may_see):
                findings.append(f"{who} finds {outcome} of {table} by {words}, not {len(may_see)}")
    return findings


def find_silent_text(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """ricordo_text without a tenant is an error too."""
    findings = []
    for settings in _lacking(tenants, table):
        with as_role(connection, "ricordo_text", {**settings, "ricordo.text_query": ALPHA}):
            outcome = outcome_of(connection, _run(connection, f"SELECT FROM ricordo.{table}"))
        if outcome not in UNSET:
            missing = [name for name, value in settings.items() if not value]
            findings.append(f"ricordo_text on {table} without {missing} gives {outcome}")
    return findings


# Each probe with the tables it is about.
PROBES: Mapping[Probe, Sequence[str]] = {
    find_wrong_reads: tuple(HARMLESS),
    find_wrong_changes: tuple(HARMLESS),
    find_wrong_inserts: WRITABLE,
    find_impersonation: (*OWNED, "memory_revision"),
    find_moves: WRITABLE,
    find_silence: tuple(HARMLESS),
    find_wrong_text: SEARCHED,
    find_silent_text: SEARCHED,
}
