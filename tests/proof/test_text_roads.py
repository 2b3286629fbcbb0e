"""The indexed text leg answers what the plain road answers, on ten thousand random queries."""

import random

import pytest

from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.search import Searched
from tests.db.test_text_leg import (  # noqa: F401 - fixtures among them
    by_index,
    by_plain_road,
    connection,
    database,
    principals,
    searched,
    some_text,
)
from tests.proof.conftest import Tally

pytestmark = pytest.mark.xdist_group("text_roads")

QUERIES = 10_000 // 4  # for each of two tables, as two principals


async def test_both_roads_find_the_same_rows(
    connection: TenantConnection,  # noqa: F811
    searched: Searched,  # noqa: F811
    tally: Tally,
) -> None:
    chance = random.Random(f"proof {searched.table.name}")
    for _ in range(QUERIES):
        query = some_text(chance)
        expected = await by_plain_road(connection, searched.table, query)
        tally.count(await by_index(connection, searched, query) == expected, query)
    assert not tally.failures
