"""A database with one big tenant and many small ones, as planners meet it: vectors, words, statistics."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy.sql.elements import CompilerElement

from ricordo_server.db.connection import DIALECT, TenantConnection
from ricordo_server.db.migrations import register_embedding_model
from ricordo_server.domain.scope import Scope
from tests.fixtures.database import MODEL, PARTITIONS, TestDatabase, make_project

BIG_ROWS, MIDDLE_ROWS, SMALL_ROWS, SMALL_TENANTS = 4_800, 300, 12, 100

SEED = "SELECT setseed(0.5)"
# The reference to `number` makes each row's vector its own.
VECTOR = f"ARRAY(SELECT random() - 0.5 FROM generate_series(1, {MODEL.dimension}) WHERE number > 0)::vector::halfvec"

MEMORIES = """
INSERT INTO ricordo.memory
  (project_id, store_id, memory_id, kind, key, content, scope_key, user_id, visibility, metadata, language,
   create_time, update_time)
SELECT %(project)s, %(store)s, 'm-' || number, 'SEMANTIC', 'key-' || number,
  'common word' || number % 300, CASE WHEN number % 10 = 0 THEN %(anns_scope)s ELSE 'shared' END,
  CASE WHEN number % 10 = 0 THEN 'ann' END, 'PRIVATE', jsonb_build_object('n', number), 'english',
  now() - number * interval '1 minute', now() - number * interval '1 minute'
FROM generate_series(1, %(rows)s) AS number
"""
MEMORY_VECTORS = f"""
INSERT INTO ricordo.memory_embedding
SELECT %(project)s, %(store)s, 'm-' || number, 1, 0, 'SEMANTIC', CASE WHEN number % 10 = 0 THEN 'ann' END, 'PRIVATE',
  {VECTOR}
FROM generate_series(1, %(rows)s) AS number
"""
SESSION = """
INSERT INTO ricordo.session (project_id, store_id, scope_key, user_id, session_id, root_session_id, labels)
VALUES (%(project)s, %(store)s, 'session', 'ann', 'session', 'session', '{}')
"""
TURNS = """
INSERT INTO ricordo.turn (project_id, store_id, turn_id, scope_key, user_id, session_id, turn_seq, role, content,
  event_time, create_time, language)
SELECT %(project)s, %(store)s, 't-' || number, 'session', 'ann', 'session', number, 'user',
  'common word' || number % 300, now(), now() - number * interval '1 minute', 'english'
FROM generate_series(1, %(rows)s) AS number
"""
TURN_VECTORS = f"""
INSERT INTO ricordo.turn_embedding
SELECT %(project)s, %(store)s, 't-' || number, 1, 0, 'ann', {VECTOR} FROM generate_series(1, %(rows)s) AS number
"""


@dataclass(frozen=True)
class Population:
    database: TestDatabase
    big: UUID
    middle: UUID
    small: Sequence[UUID]


def populate(database: TestDatabase) -> Population:
    """Indexes of the model are built after the rows, as `register_embedding_model` does on a live database."""
    big = make_project(database)
    small = [make_project(database) for _ in range(SMALL_TENANTS)]
    with psycopg.connect(database.superuser_url) as connection:
        middle = next(
            one for one in iter(lambda: make_project(database), None) if _beside(connection, one, big)
        )
        connection.execute("DROP INDEX ricordo.memory_embedding_model_1, ricordo.turn_embedding_model_1")
        connection.execute("SET session_replication_role = replica")  # no foreign-key check for each row
        connection.execute(SEED)
        for project_id, rows in [
            (big, BIG_ROWS),
            (middle, MIDDLE_ROWS),
            *((one, SMALL_ROWS) for one in small),
        ]:
            fill_tenant(connection, project_id, rows)
    register_embedding_model(database.superuser_url, MODEL.name, MODEL.dimension)
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
    return Population(database, big, middle, small)


def _beside(connection: psycopg.Connection[Any], one: UUID, other: UUID) -> bool:
    """Whether both projects lie in one partition, so that a plan for one could meet rows of the other."""
    holds = "satisfies_hash_partition('ricordo.memory'::regclass, %s, number, %s::uuid)"
    found = connection.execute(
        f"SELECT bool_or({holds} AND {holds}) FROM generate_series(0, %s - 1) AS number",
        [PARTITIONS, one, PARTITIONS, other, PARTITIONS],
    )
    return bool(found.fetchone() == (True,))


def fill_tenant(connection: psycopg.Connection[Any], project_id: UUID, rows: int) -> None:
    """So many memories and turns, the first the newest, each with a vector."""
    [(store_id,)] = connection.execute(
        "SELECT store_id FROM ricordo.store WHERE project_id = %s", [project_id]
    ).fetchall()
    tenant = {
        "project": project_id,
        "store": store_id,
        "rows": rows,
        "anns_scope": Scope(user_id="ann").key,
    }
    for statement in (MEMORIES, MEMORY_VECTORS, SESSION, TURNS, TURN_VECTORS):
        connection.execute(statement.replace(" % ", " %% "), tenant)


@dataclass(frozen=True)
class Plan:
    """Nodes of EXPLAIN, and the parents of its indexes (`memory_tsv` for `memory_p3_tsv_idx`)."""

    root: Mapping[str, Any]
    indexes: frozenset[str]

    @property
    def nodes(self) -> list[Mapping[str, Any]]:
        return list(_walk(self.root))

    def scans_whole(self, table: str) -> bool:
        return any(
            node["Node Type"] == "Seq Scan" and node["Relation Name"].startswith(table) for node in self.nodes
        )


def _walk(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)


# The first word of a statement, behind its comments.
EXPLAINABLE = re.compile(r"\A(\s*--.*\n)*\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b")


@dataclass(frozen=True)
class Explaining(TenantConnection):
    """Explains each statement just before it runs: same transaction, role, settings and parameters.

    `plans` are those of Core's statements, `file_plans` those of `.sql` files.
    """

    plans: list[Plan] = field(default_factory=list)
    file_plans: list[Plan] = field(default_factory=list)

    async def execute(
        self, statement: CompilerElement | str, parameters: Mapping[str, Any] | None = None
    ) -> Any:
        if isinstance(statement, str):
            if EXPLAINABLE.search(statement):
                self.file_plans.append(await self._explain(statement, parameters or {}))
        else:
            compiled = statement.compile(dialect=DIALECT)
            self.plans.append(await self._explain(str(compiled), {**compiled.params, **(parameters or {})}))
        return await super().execute(statement, parameters)

    async def _explain(self, text: str, parameters: Mapping[str, Any]) -> Plan:
        [found] = await (await self.raw.execute(f"EXPLAIN (FORMAT JSON) {text}", parameters)).fetchall()
        root = found["QUERY PLAN"][0]["Plan"]
        names = [node["Index Name"] for node in _walk(root) if "Index Name" in node]
        parents = await self.raw.execute(
            "SELECT coalesce(p.relname, c.relname) AS name FROM pg_class c LEFT JOIN pg_inherits ON inhrelid = c.oid"
            " LEFT JOIN pg_class p ON p.oid = inhparent WHERE c.relname = ANY (%s) AND c.relkind = 'i'",
            [names],
        )
        return Plan(root, frozenset(row["name"] for row in await parents.fetchall()))
