"""A connection that has served a big tenant serves small ones whole: no cached plan is the big tenant's."""

from collections.abc import AsyncIterator

import pytest

from ricordo_server import embedded
from ricordo_server.db import memories
from ricordo_server.db.connection import Database, open_pool, tenant_transaction
from ricordo_server.db.search import search_by_text, search_by_vector
from ricordo_server.domain.memory import MemoryQuery
from ricordo_server.domain.paging import PageRequest
from tests.db.populated import SMALL_ROWS, Population, populate
from tests.fixtures.database import MODEL, TestDatabase, clone_database, service_principal
from tests.proof.conftest import Tally

pytestmark = pytest.mark.xdist_group("plan_skew")

BIG_QUERIES, ROWS = 20, 10
VECTOR = [1.0] + [0.0] * (MODEL.dimension - 1)


@pytest.fixture(scope="module")
def population(postgres: embedded.EmbeddedPostgres, worker_id: str) -> Population:
    name = f"ricordo_skew_{worker_id}"
    clone_database(postgres, name)
    return populate(TestDatabase(postgres, name))


@pytest.fixture
async def one_connection(population: Population) -> AsyncIterator[Database]:
    pool = await open_pool(population.database.app_url, size=1)
    yield Database(pool)
    await pool.close()


async def found(database: Database, project_id: object) -> list[int]:
    """How many rows the list and both legs of the search find."""
    async with tenant_transaction(database, service_principal(project_id), "", timeout=60) as tenant:  # type: ignore[arg-type]
        searched = memories.searched(MemoryQuery())
        listed = await memories.list_memories(tenant, MemoryQuery(), (), PageRequest(ROWS))
        by_vector = await search_by_vector(tenant, searched, VECTOR, ROWS)
        by_text = await search_by_text(tenant, searched, "common", ROWS)
        return [len(listed.items), len(by_vector.candidates), len(by_text)]


async def test_small_tenants_after_a_big_one_get_all_their_rows(
    one_connection: Database, population: Population, tally: Tally
) -> None:
    for _ in range(BIG_QUERIES):
        tally.count(await found(one_connection, population.big) == [ROWS] * 3, "big")
    for project_id in population.small:
        rows = await found(one_connection, project_id)
        tally.count(rows == [min(ROWS, SMALL_ROWS)] * 3, (project_id, rows))
    assert not tally.failures
