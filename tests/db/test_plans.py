"""The road PostgreSQL takes: which index serves which statement, as the roles that run it."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from uuid import UUID

import pytest

from ricordo_server import embedded
from ricordo_server.db import memories, turns
from ricordo_server.db.connection import Database, open_pool, tenant_transaction
from ricordo_server.db.search import EXACT_THRESHOLD, Searched, search_by_text, search_by_vector
from ricordo_server.domain.filter import AllOf, Comparator, Comparison
from ricordo_server.domain.memory import MemoryKey, MemoryKind, MemoryQuery
from ricordo_server.domain.paging import OrderBy, PageRequest
from ricordo_server.domain.principal import Principal
from ricordo_server.domain.scope import Exactly, Matching, ReadableBy, Scope
from ricordo_server.domain.session import TurnQuery
from tests.db.populated import BIG_ROWS, MIDDLE_ROWS, SMALL_ROWS, Explaining, Population, populate
from tests.fixtures.database import MODEL, TestDatabase, clone_database, service_principal, user_principal

pytestmark = pytest.mark.xdist_group("plans")

Entered = Callable[..., AbstractAsyncContextManager[Explaining]]

MEMORIES = memories.searched(MemoryQuery())
TURNS = turns.searched(TurnQuery())
BOTH = pytest.mark.parametrize("searched", [MEMORIES, TURNS], ids=lambda each: each.table.name)


@pytest.fixture(scope="module")
def population(postgres: embedded.EmbeddedPostgres, worker_id: str) -> Population:
    name = f"ricordo_plans_{worker_id}"
    clone_database(postgres, name)
    return populate(TestDatabase(postgres, name))


@pytest.fixture
async def entered(population: Population) -> AsyncIterator[Entered]:
    """Opens a transaction; all of a test's are on one connection."""
    pool = await open_pool(population.database.app_url, size=1)
    opened = Database(pool)

    @asynccontextmanager
    async def enter(project_id: UUID, principal: Principal | None = None) -> AsyncIterator[Explaining]:
        principal = principal or service_principal(project_id)
        async with tenant_transaction(opened, principal, "", timeout=30) as connection:
            yield Explaining(**vars(connection))

    yield enter
    await pool.close()


def some_vector(seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [chance.uniform(-1, 1) for _ in range(MODEL.dimension)]


def hnsw(searched: Searched) -> str:
    return f"{searched.vectors.name}_model_{MODEL.model_id}"


@BOTH
@pytest.mark.parametrize("bound", [False, True], ids=["service", "user"])
async def test_the_text_leg_uses_the_gin_index(
    entered: Entered, population: Population, searched: Searched, bound: bool
) -> None:
    principal = user_principal(population.big, "ann") if bound else None
    async with entered(population.big, principal) as connection:
        found = await search_by_text(connection, searched, "word30", 50)
        [plan] = connection.plans
    assert f"{searched.table.name}_tsv" in plan.indexes
    assert len(found) == BIG_ROWS / 300


@BOTH
async def test_vectors_of_a_big_tenant_use_hnsw(
    entered: Entered, population: Population, searched: Searched
) -> None:
    async with entered(population.big) as connection:
        leg = await search_by_vector(connection, searched, some_vector(), 50)
        *_, plan = connection.plans
    assert (leg.exact, len(leg.candidates)) == (False, 50)
    assert hnsw(searched) in plan.indexes


async def test_a_filter_that_many_rows_pass_leaves_hnsw_in_use(
    entered: Entered, population: Population
) -> None:
    most = Comparison(("metadata", "n"), Comparator.LE, [BIG_ROWS - 100])
    async with entered(population.big) as connection:
        leg = await search_by_vector(
            connection, memories.searched(MemoryQuery(filter=most)), some_vector(), 50
        )
        *_, plan = connection.plans
    assert (leg.exact, len(leg.candidates)) == (False, 50)
    assert hnsw(MEMORIES) in plan.indexes


@BOTH
async def test_vectors_of_a_tenant_below_the_threshold_are_all_compared(
    entered: Entered, population: Population, searched: Searched
) -> None:
    assert MIDDLE_ROWS < EXACT_THRESHOLD < BIG_ROWS
    async with entered(population.middle) as connection:
        leg = await search_by_vector(connection, searched, some_vector(), 50)
        *_, plan = connection.plans
    assert (leg.exact, len(leg.candidates)) == (True, 50)
    assert hnsw(searched) not in plan.indexes


async def test_hnsw_finds_what_the_exact_scan_finds(
    entered: Entered, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for threshold in (EXACT_THRESHOLD, BIG_ROWS):
        monkeypatch.setattr("ricordo_server.db.search.EXACT_THRESHOLD", threshold)
        async with entered(population.big) as connection:
            leg = await search_by_vector(connection, MEMORIES, some_vector(), 50)
        found[leg.exact] = {candidate.item_id for candidate in leg.candidates}
    assert len(found[True] & found[False]) >= 45


async def test_a_selective_filter_is_answered_exactly(entered: Entered, population: Population) -> None:
    n = Comparison(("metadata", "n"), Comparator.LE, [30])
    async with entered(population.big) as connection:
        searched = memories.searched(MemoryQuery(filter=n))
        leg = await search_by_vector(connection, searched, some_vector(), 50)
    assert (leg.exact, len(leg.candidates)) == (True, 30)


async def test_a_short_answer_of_hnsw_is_replaced_by_the_exact_one(
    entered: Entered, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the graph's scan ends at its limit of tuples before it has met enough rows that match."""
    monkeypatch.setattr("ricordo_server.db.search.EXACT_THRESHOLD", 10)
    words, matches = Comparison(("content",), Comparator.CONTAINS, ["word29"]), BIG_ROWS // 30
    searched = memories.searched(MemoryQuery(filter=words))
    async with entered(population.big) as connection:
        await connection.execute("SELECT set_config('hnsw.max_scan_tuples', '1', true)")
        leg = await search_by_vector(connection, searched, some_vector(), matches)
        *_, approximate, exact = connection.plans
    assert hnsw(MEMORIES) in approximate.indexes
    assert hnsw(MEMORIES) not in exact.indexes
    assert (leg.exact, len(leg.candidates)) == (True, matches)


async def test_no_small_tenant_goes_short_after_a_big_one(entered: Entered, population: Population) -> None:
    """A plan cached for the big tenant once answered 0 of 10 rows to a small one on the same connection."""
    for seed in range(20):
        async with entered(population.big) as connection:
            assert len(await search_by_text(connection, MEMORIES, "common", 50)) == 50
            assert len((await search_by_vector(connection, MEMORIES, some_vector(seed), 50)).candidates) == 50
    for project_id in population.small:
        async with entered(project_id) as connection:
            by_text = await search_by_text(connection, MEMORIES, "common", 50)
            by_vector = await search_by_vector(connection, MEMORIES, some_vector(), 50)
        assert (len(by_text), len(by_vector.candidates)) == (SMALL_ROWS, SMALL_ROWS)


@BOTH
async def test_every_search_is_planned_for_its_own_tenant(
    entered: Entered, population: Population, searched: Searched
) -> None:
    """Also once the driver has prepared its statements, which it does at the sixth time."""
    for project_id in (*population.small[:10], population.middle):
        async with entered(project_id) as connection:
            await search_by_vector(connection, searched, some_vector(), 50)
    async with entered(population.big) as connection:
        for _ in range(10):
            await search_by_vector(connection, searched, some_vector(), 50)
            await search_by_text(connection, searched, "word30", 50)
        prepared = await connection.fetch_all(
            "SELECT statement, custom_plans, generic_plans FROM pg_prepared_statements"
            " WHERE position(%(name)s in statement) > 0",
            {"name": f"ricordo.{searched.table.name}."},
        )
    assert len([row for row in prepared if row["custom_plans"]]) >= 3
    assert [row["statement"] for row in prepared if row["generic_plans"]] == []


@pytest.mark.parametrize(
    "scope",
    [Exactly(Scope(user_id="ann")), Matching(Scope()), ReadableBy("ann")],
    ids=lambda each: type(each).__name__,
)
async def test_a_key_is_looked_up_by_its_index(
    entered: Entered, population: Population, scope: Exactly | Matching | ReadableBy
) -> None:
    key = MemoryKey(MemoryKind.SEMANTIC, "key-77", scope=scope)
    async with entered(population.big) as connection:
        await memories.get_memory_by_key(connection, key, owners=["ann"])
        [plan] = connection.plans
    assert plan.indexes & {"memory_key", "memory_by_key"}
    assert not plan.scans_whole("memory")


@pytest.mark.parametrize(
    ("query", "order_by", "indexes"),
    [
        (MemoryQuery(), [], {"memory_create_time"}),
        (MemoryQuery(scope=Matching(Scope(user_id="ann"))), [], {"memory_user"}),
        (MemoryQuery(scope=Exactly(Scope(user_id="ann"))), [], {"memory_scope"}),
        (
            MemoryQuery(
                kinds=[MemoryKind.SEMANTIC],
                filter=AllOf([Comparison(("key",), Comparator.PREFIX, ["key-77"])]),
            ),
            [OrderBy("key")],
            {"memory_by_key", "memory_key"},
        ),
        (
            MemoryQuery(filter=Comparison(("metadata", "n"), Comparator.EQ, [77])),
            [],
            {
                "memory_create_time",
                "memory_pkey",
                "memory_user",
                "memory_scope",
                "memory_by_key",
                "memory_key",
            },
        ),
    ],
    ids=["all", "user", "scope", "prefix", "metadata"],
)
async def test_a_list_stays_within_its_tenant(
    entered: Entered, population: Population, query: MemoryQuery, order_by: list[OrderBy], indexes: set[str]
) -> None:
    """The middle tenant shares a partition with the big one: a scan of it all would be felt."""
    async with entered(population.middle) as connection:
        await memories.list_memories(connection, query, order_by, PageRequest(20))
        [plan] = connection.plans
    assert plan.indexes & indexes
    assert not plan.scans_whole("memory")
