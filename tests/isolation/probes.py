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
from tests.isolation.tenants import (
    ALPHA,
    CALLER,
    CREATOR,
    EVERYONE,
    GRANTED_READ,
    GRANTED_WRITE,
    OMEGA,
    STRANGER,
    VECTOR,
    Item,
    Tenants,
    insert_row,
)

Connection = psycopg.Connection[Any]
Probe = Callable[[Connection, Tenants, str], list[str]]
Settings = Mapping[str, str]

DENIED = "42501"
# What a cast makes of the empty string, and what an unknown setting is.
UNSET = ("22P02", "42704")

# A change that no rule but a policy could refuse.
HARMLESS = {
    "snapshot": "summary = 'x'",
    "extraction": "attempts = 9",
    "held_memory": "digest = 'x'",
    "operation": "attempts = 9",
    "pipeline": "model = 'x'",
    "pipeline_run": "error = 'x'",
    "pipeline_checkpoint": "distilled_seq = 9",
    "project": "revision = 99",
    "store": "description = 'x'",
    "store_grant": "access = 'READ'",
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
    "store": {
        "store_id": "00000000-0000-0000-0000-000000000001",
        "name": "fresh",
        "creator_id": CALLER,
        "access": "RESTRICTED",
    },
    "store_grant": {"principal_id": "fresh"},
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
    "snapshot": {"snapshot_id": "fresh", "from_seq": 99, "to_seq": 99},
    "extraction": {"kind": "PROCEDURAL"},
    "held_memory": {"held_memory_id": "fresh", "digest": "fresh"},
    "operation": {"operation_id": "fresh"},
    "pipeline": {"pipeline_id": "fresh"},
    "pipeline_run": {"run_id": "fresh", "state": "SUCCEEDED"},
    "pipeline_checkpoint": {"scope_key": "fresh"},
    "memory_source": {"turn_id": "fresh"},
    "consolidation": {"scope_key": "fresh"},
}
# The column by which a row hangs on one that may be another user's, and such rows of Bob.
PARENT = {
    "snapshot": ("scope_key", ["bob"]),
    "extraction": ("snapshot_id", ["bob"]),
    "turn": ("scope_key", ["bob"]),
    "turn_embedding": ("turn_id", ["bob"]),
    "memory_attribute": ("memory_id", ["bob", "bob-shared"]),
    "memory_embedding": ("memory_id", ["bob", "bob-shared"]),
    "memory_revision": ("memory_id", ["bob", "bob-shared"]),
    "memory_source": ("memory_id", ["bob", "bob-shared"]),
}
# Of its project the server changes the settings only: no row of it comes or goes. The audit is added to, and no more.
WRITABLE = tuple(table for table in HARMLESS if table != "project")
READ_ONLY = ("audit",)
TABLES = (*HARMLESS, *READ_ONLY)
# Not an end user's to write.
ACCOUNTS = ("service_account", "service_account_secret")
STORES = ("store", "store_grant")
PIPELINES = ("pipeline", "pipeline_run")
MANAGED = (*STORES, *ACCOUNTS, *PIPELINES)
OWNED = tuple(table for table in WRITABLE if table not in (*MANAGED, "memory_revision", "usage"))
# Of a project's numbers, whoever reads adds to them too.
WRITTEN_BY_WRITERS = tuple(table for table in WRITABLE if table != "usage")
PUBLISHED = tuple(table for table in STORE_TABLES if "visibility" in METADATA.tables[f"ricordo.{table}"].c)
SEARCHED = ("memory", "turn")


@dataclass(frozen=True)
class Who:
    """A service principal when `users` is empty, and then an administrator unless it is named."""

    users: tuple[str, ...] = ()
    principal_id: str = CALLER
    writes: bool = True
    publishes: bool = True

    @property
    def administers(self) -> bool:
        return not self.users and self.principal_id == CALLER

    def settings(self, tenants: Tenants) -> dict[str, str]:
        return {
            "ricordo.project_id": str(tenants.project_id),
            "ricordo.store_id": str(tenants.store_id),
            "ricordo.principal_ids": "{" + self.principal_id + "}",
            "ricordo.any_user": str(not self.users),
            "ricordo.user_ids": "{" + ",".join(self.users) + "}",
            "ricordo.may_administer": str(self.administers),
            "ricordo.may_write": str(self.writes),
            "ricordo.store_writable": str(self.writes),
            "ricordo.may_publish": str(self.publishes),
        }

    def may_read(self, row: Item) -> bool:
        return self._is_own(row) and (not self.users or bool(row.readers & {EVERYONE, *self.users}))

    def may_write(self, row: Item) -> bool:
        return self._is_own(row) and (not self.users or row.owners <= set(self.users))

    def _is_own(self, row: Item) -> bool:
        """Request ids are their principal's alone."""
        return row.table != "idempotency" or row.values["principal_id"] == self.principal_id


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


def _fresh(tenants: Tenants, table: str) -> dict[str, Any]:
    """A copy of a row that is a new one: of a pipeline, one to another store."""
    target = {"target_store_id": tenants.other_store} if table == "pipeline" else {}
    return {**_own(tenants, table).values, **FRESH[table], **target}


def find_wrong_inserts(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """Rows go into the principal's own tenant only."""
    values = _fresh(tenants, table)
    cases: list[tuple[Who, Mapping[str, Any], int | str]] = [
        (SERVICE, {}, 1),
        (ANN, {}, DENIED if table in MANAGED else 1),
        (SERVICE, {"project_id": tenants.other_project}, DENIED),
    ]
    if table in STORE_TABLES:
        cases.append((SERVICE, {"store_id": tenants.other_store}, DENIED))
    return _try_inserts(connection, tenants, table, values, cases)


def find_impersonation(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """A bound user inserts nothing in another's name, nor in nobody's, nor on another's row."""
    values = _fresh(tenants, table)
    nobody = "" if table == "idempotency" else None
    named = [{"user_id": "bob"}, {"user_id": nobody}] if table in OWNED else []
    named += [{"principal_id": STRANGER}] if table == "idempotency" else []
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
    if table == "idempotency":
        moves.append((ANN, f"principal_id = '{STRANGER}'"))
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
        if table not in PIPELINES:  # no row of these is an end user's
            yield {**complete, "ricordo.any_user": "off", "ricordo.user_ids": ""}
    elif table in (*STORES, "idempotency"):
        yield {**complete, "ricordo.principal_ids": ""}


# What a statement asks of the principal's rights.
WRITES = ("INSERT", "UPDATE", "DELETE")
RIGHTS_OF_STORE_TABLES = {"ricordo.store_writable": WRITES}
RIGHTS_OF_PROJECT_TABLES = {
    "ricordo.may_write": WRITES,
    "ricordo.may_administer": ("SELECT", "UPDATE", "DELETE"),
}
RIGHTS: dict[str, Mapping[str, tuple[str, ...]]] = dict.fromkeys(STORE_TABLES, RIGHTS_OF_STORE_TABLES) | {
    "project": {"ricordo.may_administer": ("UPDATE",)},
    "idempotency": {"ricordo.may_write": WRITES},
    "usage": {},
    "store": RIGHTS_OF_PROJECT_TABLES,
    "store_grant": RIGHTS_OF_PROJECT_TABLES,
    **{table: {"ricordo.may_write": WRITES, "ricordo.may_administer": WRITES} for table in ACCOUNTS},
}


def find_silent_rights(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """Nor is it when only what the principal may do is missing."""
    findings = []
    for name, asked in RIGHTS[table].items():
        for command in asked:
            attempt = commands(connection, tenants, table)[command]
            with as_role(connection, "ricordo_app", {**SERVICE.settings(tenants), name: ""}):
                outcome = outcome_of(connection, attempt)
            if outcome not in UNSET:
                findings.append(f"{command} on {table} without {name} gives {outcome}")
    return findings


def find_writes_of_readers(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """Who may only read changes nothing, whatever the code asks for."""
    findings = []
    for who in (Who(writes=False), Who(("ann",), writes=False)):
        for command in WRITES:
            attempt = commands(connection, tenants, table)[command]
            with as_role(connection, "ricordo_app", who.settings(tenants)):
                outcome = outcome_of(connection, attempt)
            if outcome != (DENIED if command == "INSERT" else 0):
                findings.append(f"{who}: {command} on {table} gives {outcome}")
    return findings


def find_publishing(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """Without the right to publish a user's writes stay private; what is published can be taken back."""
    ann = Who(("ann",), publishes=False)
    mine = next(row.values for row in tenants.mine(table) if ANN.may_write(row))
    fresh = {**mine, **FRESH[table], "visibility": "PRIVATE"}
    published = {**fresh, "visibility": "PROJECT"}
    take_back = f"UPDATE ricordo.{table} SET visibility = 'PRIVATE'"
    publish = f"UPDATE ricordo.{table} SET visibility = 'PROJECT'"
    own = sum(ANN.may_write(row) for row in tenants.mine(table))
    cases: list[tuple[Callable[[], int], int | str]] = [
        (_insert(connection, table, fresh), 1),
        (_insert(connection, table, published), DENIED),
        (_run(connection, take_back), own),
        (_run(connection, publish), DENIED),
    ]
    findings = []
    for number, (attempt, expected) in enumerate(cases):
        with as_role(connection, "ricordo_app", ann.settings(tenants)):
            outcome = outcome_of(connection, attempt)
        if outcome != expected:
            findings.append(f"publishing in {table}, case {number}: {outcome}, not {expected}")
    without = {**ann.settings(tenants), "ricordo.may_publish": ""}
    for attempt in (_insert(connection, table, published), _run(connection, publish)):
        with as_role(connection, "ricordo_app", without):
            outcome = outcome_of(connection, attempt)
        if outcome not in UNSET:
            findings.append(f"publishing in {table} without ricordo.may_publish gives {outcome}")
    return findings


# Services that do not administer: how many restricted stores and grants they see, and how many stores they change.
HOLDERS = {
    Who(principal_id=CREATOR): (1, 2, 3),
    Who(principal_id=GRANTED_READ): (1, 1, 2),
    Who(principal_id=GRANTED_WRITE): (1, 1, 2),
    Who(principal_id=STRANGER): (0, 0, 2),
    # The maker, bound to a user for one call.
    Who(("ann",), principal_id=CREATOR): (1, 2, 0),
}


def find_wrong_access(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """A restricted store is seen by its maker and who has a grant, and changed by its maker alone; so are grants."""
    findings = []
    for who, (restricted, grants, stores) in HOLDERS.items():
        seen = 2 + restricted if table == "store" else grants
        changed = stores if table == "store" else 2 if stores == 3 else 0
        cases = {
            f"SELECT FROM ricordo.{table}": seen,
            f"UPDATE ricordo.{table} SET {HARMLESS[table]}": changed,
            f"DELETE FROM ricordo.{table}": changed,
        }
        for statement, expected in cases.items():
            with as_role(connection, "ricordo_app", who.settings(tenants)):
                outcome = outcome_of(connection, _run(connection, statement))
            if outcome != expected:
                findings.append(f"{who}: {statement} gives {outcome}, not {expected}")
    return findings + _find_wrong_makers(connection, tenants, table)


def _find_wrong_makers(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """Nobody makes a store in another's name, or locks itself out; nobody but the maker grants."""
    values = _fresh(tenants, table)
    forged = {"creator_id": STRANGER} if table == "store" else {"store_creator_id": STRANGER}
    stranger = Who(principal_id=STRANGER)
    foreign_key = "23503"
    cases: list[tuple[Who, Mapping[str, Any], int | str]] = (
        [
            (SERVICE, forged, DENIED),
            (stranger, {}, DENIED),
            (stranger, forged, 1),
            (Who(("ann",), STRANGER), forged, DENIED),
        ]
        if table == "store"
        else [
            (stranger, {}, DENIED),
            (Who(principal_id=CREATOR), {}, 1),
            (Who(("ann",), CREATOR), {}, DENIED),
            (stranger, forged, foreign_key),
        ]
    )
    findings = _try_inserts(connection, tenants, table, values, cases)
    if table == "store":
        with as_role(connection, "ricordo_app", stranger.settings(tenants)):
            outcome = outcome_of(
                connection, _run(connection, "UPDATE ricordo.store SET access = 'RESTRICTED'")
            )
        if outcome != DENIED:
            findings.append(f"a stranger restricts stores of others: {outcome}")
    return findings


def commands(connection: Connection, tenants: Tenants, table: str) -> dict[str, Callable[[], int]]:
    """One statement of each command that reaches a row."""
    if table in READ_ONLY:
        fresh = {**tenants.mine(table)[0].values, "audit_id": tenants.project_id}
        return {
            "SELECT": _run(connection, f"SELECT FROM ricordo.{table}"),
            "INSERT": _insert(connection, table, fresh),
        }
    changing = {
        "SELECT": _run(connection, f"SELECT FROM ricordo.{table}"),
        "UPDATE": _run(connection, f"UPDATE ricordo.{table} SET {HARMLESS[table]}"),
    }
    if table not in WRITABLE:
        return changing
    return {
        **changing,
        "INSERT": _insert(connection, table, _fresh(tenants, table)),
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


def find_wrong_records(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """Everyone leaves records in its own name and project, readers too; nobody changes or removes one."""
    values = {**tenants.mine(table)[0].values, "audit_id": tenants.project_id}
    reader = Who(("ann",), writes=False)
    cases: list[tuple[Who, Mapping[str, Any], int | str]] = [
        (SERVICE, {}, 1),
        (reader, {}, 1),
        (SERVICE, {"principal_id": STRANGER}, DENIED),
        (SERVICE, {"project_id": tenants.other_project}, DENIED),
    ]
    findings = _try_inserts(connection, tenants, table, values, cases)
    for statement in (f"UPDATE ricordo.{table} SET subject = 'x'", f"DELETE FROM ricordo.{table}"):
        with as_role(connection, "ricordo_app", SERVICE.settings(tenants)):
            outcome = outcome_of(connection, _run(connection, statement))
        if outcome != DENIED:
            findings.append(f"{statement} gives {outcome}")
    read, write = _run(connection, f"SELECT FROM ricordo.{table}"), _insert(connection, table, values)
    for name, attempt in (
        ("ricordo.project_id", read),
        ("ricordo.may_administer", read),
        ("ricordo.project_id", write),
        ("ricordo.principal_ids", write),
    ):
        with as_role(connection, "ricordo_app", {**SERVICE.settings(tenants), name: ""}):
            outcome = outcome_of(connection, attempt)
        if outcome not in UNSET:
            findings.append(f"a record without {name} gives {outcome}")
    return findings


def find_wrong_accounts(connection: Connection, tenants: Tenants, table: str) -> list[str]:
    """A service that does not administer sees accounts, and changes none."""
    stranger = Who(principal_id=STRANGER)
    findings = []
    for command, attempt in commands(connection, tenants, table).items():
        with as_role(connection, "ricordo_app", stranger.settings(tenants)):
            outcome = outcome_of(connection, attempt)
        expected = {"SELECT": len(tenants.mine(table)), "INSERT": DENIED}.get(command, 0)
        if outcome != expected:
            findings.append(f"{stranger}: {command} on {table} gives {outcome}")
    return findings


# Each probe with the tables it is about.
PROBES: Mapping[Probe, Sequence[str]] = {
    find_wrong_reads: TABLES,
    find_wrong_changes: tuple(HARMLESS),
    find_wrong_inserts: WRITABLE,
    find_impersonation: (*OWNED, "memory_revision"),
    find_moves: WRITABLE,
    find_silence: tuple(HARMLESS),
    find_silent_rights: tuple(HARMLESS),
    find_writes_of_readers: WRITTEN_BY_WRITERS,
    find_publishing: PUBLISHED,
    find_wrong_access: STORES,
    find_wrong_accounts: ACCOUNTS,
    find_wrong_records: READ_ONLY,
    find_wrong_text: SEARCHED,
    find_silent_text: SEARCHED,
}
