"""Searches and lists of rows that were written a moment ago: no statistics tell how many they are."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest

from ricordo_server import embedded
from ricordo_server.db import memories, sources, turns
from ricordo_server.db.connection import Database, open_pool, tenant_transaction
from ricordo_server.db.consolidation import find_related
from ricordo_server.db.search import Searched, search_by_vector
from ricordo_server.db.sessions import lock_session
from ricordo_server.domain.memory import MemoryQuery
from ricordo_server.domain.paging import PageRequest
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import TurnDraft, TurnQuery
from tests.db.populated import Explaining, Plan, fill_tenant
from tests.fixtures.database import MODEL, TestDatabase, clone_database, make_project, service_principal

pytestmark = pytest.mark.xdist_group("fresh_rows")

MEMORIES = memories.searched(MemoryQuery())
BOTH = pytest.mark.parametrize(
    "searched", [MEMORIES, turns.searched(TurnQuery())], ids=lambda each: each.table.name
)
ROWS = 300
VECTOR = [1.0] + [0.0] * (MODEL.dimension - 1)
NO_STATISTICS = """
DO $$ DECLARE partition regclass; BEGIN
  FOR partition IN SELECT oid FROM pg_class
    WHERE relispartition AND relkind = 'r' AND relnamespace = 'ricordo'::regnamespace
  LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', partition); END LOOP;
END $$
"""
ALL_ALIKE = """
UPDATE ricordo.{table} SET embedding = array_fill(1, ARRAY[%s])::vector::halfvec WHERE project_id = %s
"""


SOURCES = """
INSERT INTO ricordo.memory_source (project_id, store_id, memory_id, revision, ground, turn_id, snapshot_id, user_id,
  role, said_time, quote)
SELECT project_id, store_id, 'm-' || substr(turn_id, 3), 1, turn_id, turn_id, 's', user_id, 'user', create_time,
  content
FROM ricordo.turn WHERE project_id = %s
"""


@pytest.fixture(scope="module")
def database(postgres: embedded.EmbeddedPostgres, worker_id: str) -> TestDatabase:
    """Never analysed, as an installation of today, or a partition in which a tenant is new."""
    name = f"ricordo_unanalysed_{worker_id}"
    clone_database(postgres, name)
    cloned = TestDatabase(postgres, name)
    with psycopg.connect(cloned.superuser_url) as connection:
        connection.execute(NO_STATISTICS)
    return cloned


@pytest.fixture
async def connection(database: TestDatabase) -> AsyncIterator[Explaining]:
    project_id = make_project(database)
    with psycopg.connect(database.superuser_url) as filling:
        filling.execute("SET session_replication_role = replica")
        fill_tenant(filling, project_id, ROWS)
        filling.execute(SOURCES, [project_id])
    pool = await open_pool(database.app_url, size=1)
    async with tenant_transaction(Database(pool), service_principal(project_id), "", timeout=60) as opened:
        yield Explaining(**vars(opened))
    await pool.close()


def lookups(plan: Plan, table: str) -> list[str]:
    """The conditions by which indexes of the table are entered."""
    named = [node for node in plan.nodes if node.get("Relation Name", "").rsplit("_p", 1)[0] == table]
    return [str(node.get("Index Cond")) for node in named]


def compares_pairs(plan: Plan) -> bool:
    """Whether rows are put together to be compared, instead of looked up."""
    return any("Join Filter" in node for node in plan.nodes)


@BOTH
async def test_vectors_are_found_by_the_ids_of_the_rows_that_match(
    connection: Explaining, searched: Searched
) -> None:
    leg = await search_by_vector(connection, searched, VECTOR, 50)
    plan = connection.plans[-1]
    assert (leg.exact, len(leg.candidates)) == (True, 50)
    assert all(f"({searched.id} = ANY (" in condition for condition in lookups(plan, searched.vectors.name))
    assert f"({searched.id} = {searched.vectors.name}" in " ".join(lookups(plan, searched.table.name))
    assert not compares_pairs(plan)


@BOTH
async def test_rows_of_the_graph_are_looked_up_by_their_ids(
    connection: Explaining, searched: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo_server.db.search.EXACT_THRESHOLD", 10)
    leg = await search_by_vector(connection, searched, VECTOR, 50)
    plan = connection.plans[-1]
    assert (leg.exact, len(leg.candidates)) == (False, 50)
    assert all(f"({searched.id} = " in condition for condition in lookups(plan, searched.table.name))
    assert not compares_pairs(plan)


@BOTH
async def test_of_vectors_that_are_equally_near_the_newest_rows_are_found(
    database: TestDatabase, connection: Explaining, searched: Searched
) -> None:
    with psycopg.connect(database.superuser_url) as changing:
        changing.execute(
            ALL_ALIKE.format(table=searched.vectors.name), [MODEL.dimension, connection.project_id]
        )
    leg = await search_by_vector(connection, searched, VECTOR, 20)
    newest = [f"{searched.table.name[0]}-{number}" for number in range(1, 21)]
    assert [candidate.item_id for candidate in leg.candidates] == newest


async def test_consolidation_finds_vectors_by_the_ids_of_the_memories(connection: Explaining) -> None:
    await find_related(connection, MEMORIES, [VECTOR, VECTOR], most=5, least_cosine=0.0)
    found = lookups(connection.plans[-1], "memory_embedding")
    assert found
    assert all("(memory_id = ANY (" in condition for condition in found)


OF_SOURCES: list[Callable[[Explaining, list[str], list[str]], Awaitable[object]]] = [
    lambda connection, memory_ids, _: sources.get_said_times(connection, memory_ids),
    lambda connection, memory_ids, _: sources.get_line_times(connection, memory_ids),
    lambda connection, memory_ids, _: sources.carry_sources(connection, memory_ids),
    lambda connection, _, turn_ids: sources.list_supports(connection, turn_ids),
    lambda connection, _, turn_ids: sources.list_remainders(connection, turn_ids),
    lambda connection, _, turn_ids: sources.list_document_quotations(connection, turn_ids),
    lambda connection, _, turn_ids: sources.delete_sources(connection, turn_ids),
]


@pytest.mark.parametrize("number", range(len(OF_SOURCES)))
async def test_sources_are_looked_up(connection: Explaining, number: int) -> None:
    """When turns are deleted, a join of them with themselves took minutes for 500."""
    memory_ids, turn_ids = ([f"{letter}-{each}" for each in range(1, ROWS + 1)] for letter in ("m", "t"))
    await OF_SOURCES[number](connection, memory_ids, turn_ids)
    assert connection.plans
    assert not any(compares_pairs(plan) for plan in connection.plans)


@pytest.mark.parametrize("noun", ["memories", "turns"])
async def test_a_list_reads_its_page_in_the_order_of_an_index(connection: Explaining, noun: str) -> None:
    lists: dict[str, Any] = {
        "memories": memories.list_memories(connection, MemoryQuery(), [], PageRequest(20)),
        "turns": turns.list_turns(connection, TurnQuery(), [], PageRequest(20)),
    }
    asked = lists.pop(noun)
    [other] = lists.values()
    other.close()
    assert len((await asked).items) == 20
    [plan] = connection.plans
    assert plan.indexes & {"memory_create_time", "turn_create_time"}
    assert not compares_pairs(plan)


async def test_a_turn_is_compared_with_the_vectors_of_those_that_wait_alone(connection: Explaining) -> None:
    """A join read every vector of the store, at each turn."""
    scope = Scope(user_id="u-1", session_id="s")
    await lock_session(connection, scope)
    await turns.record_turns(connection, scope, [("t-new", TurnDraft(role="user", content="hello"))], VECTOR)
    plan = connection.file_plans[-1]
    found = lookups(plan, "turn_embedding")
    assert found
    assert all("(turn_id = t.turn_id)" in condition for condition in found)
