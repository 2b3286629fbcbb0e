"""A big tenant before and after its switch to another model: the new graph serves, and its recall."""

from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from ricordo_server import embedded
from ricordo_server.db import memories, turns
from ricordo_server.db import search as search_db
from ricordo_server.db.connection import Database, open_pool, tenant_transaction
from ricordo_server.db.migrations import register_embedding_model
from ricordo_server.db.search import Searched, search_by_vector
from ricordo_server.domain.embedding_model import EmbeddingModel
from ricordo_server.domain.memory import MemoryQuery
from ricordo_server.domain.session import TurnQuery
from tests.db.populated import BIG_ROWS, Explaining, Population, populate
from tests.fixtures.database import MODEL, TestDatabase, clone_database, service_principal

pytestmark = pytest.mark.xdist_group("plans")

BOTH = pytest.mark.parametrize(
    "searched",
    [memories.searched(MemoryQuery()), turns.searched(TurnQuery())],
    ids=lambda each: each.table.name,
)
# A projection of the vectors there are: what is near stays near, so both models have like recall to give.
SECOND = """
INSERT INTO ricordo.{table} SELECT (row).* FROM (
  SELECT jsonb_populate_record(v, jsonb_build_object(
    'model_id', %s, 'embedding', subvector(v.embedding::vector, 1, 32)::text)) AS row
  FROM ricordo.{table} AS v) AS made
"""
QUERIES = 20


@pytest.fixture(scope="module")
def second_model(population: Population) -> EmbeddingModel:
    """Registered on the live database and filled afterwards, as completion does."""
    url = population.database.superuser_url
    model_id = register_embedding_model(url, "second", 32, {"provider": "hashing", "dimension": 32})
    with psycopg.connect(url, autocommit=True) as connection:
        for table in ("memory_embedding", "turn_embedding"):
            connection.execute(SECOND.format(table=table), [model_id])
        connection.execute("VACUUM (ANALYZE) ricordo.memory_embedding, ricordo.turn_embedding")
    return EmbeddingModel(model_id, "second", 32)


@pytest.fixture(scope="module")
def population(postgres: embedded.EmbeddedPostgres, worker_id: str) -> Population:
    name = f"ricordo_swap_{worker_id}"
    clone_database(postgres, name)
    return populate(TestDatabase(postgres, name))


@pytest.fixture
async def connection(population: Population, second_model: EmbeddingModel) -> AsyncIterator[Explaining]:
    pool = await open_pool(population.database.app_url, size=1)
    async with tenant_transaction(
        Database(pool), service_principal(population.big), "", timeout=60
    ) as opened:
        yield Explaining(**vars(opened))
    await pool.close()


def read_by(connection: Explaining, model: EmbeddingModel) -> Explaining:
    """As after a switch to it."""
    return replace(connection, models=replace(connection.models, active=model))


async def query_vectors(connection: Explaining, searched: Searched) -> list[list[float]]:
    """Some rows' own, so that they have near neighbours."""
    rows = await connection.fetch_all(
        f"SELECT embedding::text AS vector FROM ricordo.{searched.vectors.name}"
        " WHERE project_id = %(project_id)s AND store_id = %(store_id)s AND model_id = %(model_id)s"
        f" ORDER BY {searched.id} LIMIT {QUERIES}",
        {**connection.key, "model_id": connection.embedding_model.model_id},
    )
    return [[float(part) for part in row["vector"][1:-1].split(",")] for row in rows]


@BOTH
async def test_the_graph_of_the_new_model_serves_after_the_switch(
    connection: Explaining, second_model: EmbeddingModel, searched: Searched
) -> None:
    for model in (MODEL, second_model, MODEL):
        by_model = read_by(connection, model)
        [vector, *_] = await query_vectors(by_model, searched)
        leg = await search_by_vector(by_model, searched, vector, 50)
        assert (leg.exact, len(leg.candidates)) == (False, 50)
        assert f"{searched.vectors.name}_model_{model.model_id}" in connection.plans[-1].indexes


@BOTH
async def test_recall_is_as_good_by_the_new_model(
    connection: Explaining,
    second_model: EmbeddingModel,
    searched: Searched,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def recall(model: EmbeddingModel) -> float:
        by_model = read_by(connection, model)
        found = 0
        for vector in await query_vectors(by_model, searched):
            answers = []
            for threshold in (search_db.EXACT_THRESHOLD, BIG_ROWS):
                with monkeypatch.context() as patched:
                    patched.setattr(search_db, "EXACT_THRESHOLD", threshold)
                    leg = await search_by_vector(by_model, searched, vector, 10)
                assert leg.exact == (threshold == BIG_ROWS)
                answers.append({candidate.item_id for candidate in leg.candidates})
            found += len(answers[0] & answers[1])
        return found / (QUERIES * 10)

    before, after = await recall(MODEL), await recall(second_model)
    assert before >= 0.95
    assert after >= before - 0.02
