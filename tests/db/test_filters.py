"""Filters as SQL, held to the oracle on many rows, and where SQL has traps of its own."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from psycopg.types.json import Jsonb
from sqlalchemy import select

from ricordo_server.db.connection import DIALECT
from ricordo_server.db.errors import translated_errors
from ricordo_server.db.filters import compile_filter
from ricordo_server.db.tables import memory, session, turn
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.filter import AllOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_check import COMPARATORS, check_filter
from ricordo_server.domain.filter_fields import MEMORY_FIELDS, SESSION_FIELDS, TURN_FIELDS, FieldType
from ricordo_server.domain.metadata import encode_metadata
from tests.db.filter_rows import NOON, NUMBERS, TABLE, TEXTS, some_row, trees
from tests.fixtures.database import TestDatabase, make_project
from tests.unit.filter_oracle import Row, holds


@dataclass(frozen=True)
class Project:
    """A project of this module's own that holds `TABLE`, entered as ricordo_app."""

    connection: psycopg.Connection[Any]
    project_id: UUID
    store_id: UUID

    def select(self, tree: Filter, table: Any = memory) -> set[str]:
        """The ids of the rows for which the filter holds."""
        return {row[0] for row in self.run("", tree, table)}

    def run(self, prefix: str, tree: Filter, table: Any = memory) -> list[Any]:
        mine = table.c.project_id == self.project_id, table.c.store_id == self.store_id
        statement = select(list(table.primary_key)[2]).where(*mine, compile_filter(tree, table))
        compiled = statement.compile(dialect=DIALECT)
        with translated_errors(), self.connection.transaction():
            return self.connection.execute(f"{prefix} {compiled}", compiled.params).fetchall()

    def insert(self, rows: dict[str, Row]) -> None:
        records = [self._record(memory_id, row) for memory_id, row in rows.items()]
        names, marks = ", ".join(records[0]), ", ".join(f"%({name})s" for name in records[0])
        with self.connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO ricordo.memory ({names}) VALUES ({marks})", records)

    def _record(self, memory_id: str, row: Row) -> dict[str, Any]:
        return {
            "project_id": self.project_id,
            "store_id": self.store_id,
            "language": "simple",
            "memory_id": memory_id,
            "scope_key": memory_id,
            "visibility": "PRIVATE",
            **row,
            "metadata": Jsonb(encode_metadata(row["metadata"])),
            "labels": Jsonb(row["labels"]),
        }


@pytest.fixture(scope="module")
def project(database: TestDatabase) -> Iterator[Project]:
    project_id = make_project(database)
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        enter(connection, project_id=project_id, principal_ids="{test}", any_user="on", user_ids="{}")
        enter(connection, may_write="on", may_administer="on", store_writable="on", may_publish="on")
        [(store_id,)] = connection.execute("SELECT store_id FROM ricordo.store").fetchall()
        enter(connection, store_id=store_id)
        project = Project(connection, project_id, store_id)
        project.insert(TABLE)
        yield project


def enter(connection: psycopg.Connection[Any], **values: Any) -> None:
    for name, value in values.items():
        connection.execute("SELECT set_config(%s, %s, false)", [f"ricordo.{name}", str(value)])


def expected(tree: Filter) -> set[str]:
    return {memory_id for memory_id, row in TABLE.items() if holds(tree, row)}


@settings(max_examples=400, deadline=None)
@given(tree=trees())
def test_filters_select_what_the_oracle_selects(project: Project, tree: Filter) -> None:
    check_filter(tree, MEMORY_FIELDS)

    assert project.select(tree) == expected(tree)


@pytest.mark.parametrize("comparator", [Comparator.EQ, Comparator.LT, Comparator.LE, Comparator.HAS])
def test_numbers_compare_exactly(project: Project, comparator: Comparator) -> None:
    path = ("metadata", "list" if comparator is Comparator.HAS else "k")
    for number in NUMBERS:
        tree = Comparison(path, comparator, [number])

        assert project.select(tree) == expected(tree)


def test_each_stored_map_equals_itself(project: Project) -> None:
    for row in list(TABLE.values())[:80]:
        tree = Comparison(("metadata", "map"), Comparator.EQ, [row["metadata"]["map"]])

        assert project.select(tree) == expected(tree) != set()


def deep(number: float) -> Any:
    value: Any = {"a": [number]}
    for _ in range(5):
        value = [value]
    return value


def test_a_deep_value_is_compared_to_its_last_number(project: Project) -> None:
    row = {**some_row(random.Random(1)), "metadata": {"deep": deep(2.0**62)}}
    with project.connection.transaction(force_rollback=True):
        project.insert({"deep": row})
        assert project.select(Comparison(("metadata", "deep"), Comparator.EQ, [deep(2**62)])) == {"deep"}
        assert project.select(Comparison(("metadata", "deep"), Comparator.EQ, [deep(2**62 + 1)])) == set()


def test_each_of_several_values_is_compared_to_its_own_last_number(project: Project) -> None:
    row = {**some_row(random.Random(1)), "metadata": {"deep": deep(1)}}
    several = Comparison(("metadata", "deep"), Comparator.IN, [[2], deep(1.0), "x", 3])
    with project.connection.transaction(force_rollback=True):
        project.insert({"deep": row})
        assert project.select(several) == {"deep"}


def test_a_prefix_ends_where_the_next_code_point_begins(project: Project) -> None:
    for text in TEXTS:
        tree = Comparison(("content",), Comparator.PREFIX, [text])

        assert project.select(tree) == expected(tree)


@pytest.mark.parametrize("path", [("content",), ("metadata", "k"), ("labels", "k"), ("tags",)], ids=".".join)
def test_no_text_breaks_out_of_its_comparison(project: Project, path: tuple[str, ...]) -> None:
    for text in TEXTS:
        tree = Comparison(path, Comparator.HAS if path == ("tags",) else Comparator.EQ, [text])

        assert project.select(tree) == expected(tree)


@pytest.mark.parametrize("key", ["'", "'; --", "%(project_id)s", "%s", '"', "\\", ":x"])
def test_no_key_breaks_out_of_its_path(project: Project, key: str) -> None:
    row = {**some_row(random.Random(1)), "metadata": {key: {key: "v"}}, "labels": {key: "v"}}
    with project.connection.transaction(force_rollback=True):
        project.insert({"odd": row})
        for path in (("metadata", key, key), ("labels", key)):
            assert project.select(Comparison(path, Comparator.EQ, ["v"])) == {"odd"}


@pytest.mark.parametrize("pattern", ["(", "a)|(?:b", "[", "a**", "***=a", "(?q)a", "\\"])
@pytest.mark.parametrize("path", [("content",), ("metadata", "k"), ("labels", "k")], ids=".".join)
def test_an_invalid_pattern_is_an_invalid_filter(
    project: Project, path: tuple[str, ...], pattern: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        project.select(Negated(Comparison(path, Comparator.MATCHES, [pattern])))
    assert refusal.value.reason is Reason.INVALID_FILTER


def test_an_invalid_pattern_is_refused_where_there_are_no_rows(project: Project) -> None:
    with pytest.raises(DomainError) as refusal:
        project.select(Comparison(("metadata", "k"), Comparator.MATCHES, ["("]), turn)
    assert refusal.value.reason is Reason.INVALID_FILTER


def test_options_of_a_pattern_hold_for_the_whole_value(project: Project) -> None:
    ignoring_case = project.select(Comparison(("content",), Comparator.MATCHES, ["(?i)zebra"]))
    by_line = project.select(Comparison(("content",), Comparator.MATCHES, ["(?n)line"]))

    assert ignoring_case == {name for name, row in TABLE.items() if row["content"] == "Zebra"} != set()
    assert by_line == set()


def test_a_prefix_of_the_key_uses_its_index(database: TestDatabase, project: Project) -> None:
    kind = Comparison(("kind",), Comparator.EQ, ["DOCUMENT"])
    key = Comparison(("key",), Comparator.PREFIX, ["/docs/"])
    with psycopg.connect(database.superuser_url) as owner:
        owner.execute("ANALYZE ricordo.memory")
    with project.connection.transaction():
        project.connection.execute("SET LOCAL enable_seqscan = off")
        plan = project.run("EXPLAIN", AllOf([kind, key]))

    [condition] = [line for (line,) in plan if "Index Cond" in line and "/docs/" in line]
    assert "key >=" in condition
    assert "key <" in condition


@pytest.mark.parametrize(
    ("fields", "table"),
    [(MEMORY_FIELDS, memory), (TURN_FIELDS, turn), (SESSION_FIELDS, session)],
    ids=["memory", "turn", "session"],
)
def test_every_field_takes_each_of_its_comparators(project: Project, fields: Any, table: Any) -> None:
    samples = {
        FieldType.NUMBER: 2.5,
        FieldType.TIME: NOON,
        FieldType.KIND: "DOCUMENT",
        FieldType.SOURCE: "USER",
    }
    for name in fields.types:
        path = (name, "k") if name in ("metadata", "labels") else tuple(name.split("."))
        kind = fields.find(path)
        for comparator in COMPARATORS[kind]:
            operand: Any = samples.get(kind, "a")
            tree = Comparison(path, comparator, () if comparator is Comparator.EXISTS else (operand,))
            check_filter(tree, fields)
            project.select(tree, table)
            project.select(tree, table.alias("other"))


def test_the_role_of_the_text_leg_may_filter(project: Project) -> None:
    trees = [
        Comparison(("metadata", "map"), Comparator.EQ, [{"k": [1]}]),
        Comparison(("metadata", "list"), Comparator.HAS, ["a"]),
        Comparison(("topics", "custom"), Comparator.EXISTS),
        Comparison(("content",), Comparator.MATCHES, ["a|b"]),
    ]
    enter_text_leg = (
        "SELECT set_config('ricordo.text_query', 'abc', true), set_config('role', 'ricordo_text', true)"
    )
    with project.connection.transaction(force_rollback=True):
        project.connection.execute(enter_text_leg)
        for tree in trees:
            assert set() != project.select(Negated(tree)) <= expected(Negated(tree))
