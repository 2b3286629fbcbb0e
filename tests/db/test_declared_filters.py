"""Filters on declared keys: what the index narrows to holds every row, and which plans that makes."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from ricordo_server import embedded
from ricordo_server.db import memories as memories_db
from ricordo_server.db.attributes import index_memories
from ricordo_server.db.connection import Database, open_pool, tenant_transaction
from ricordo_server.db.memories import list_memories
from ricordo_server.db.search import search_by_text, search_by_vector
from ricordo_server.domain.attributes import INDEXED_CHARACTERS, indexed
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.memory import MemoryQuery
from ricordo_server.domain.metadata import encode_metadata
from ricordo_server.domain.paging import PageRequest
from ricordo_server.domain.principal import Principal
from ricordo_server.domain.project_settings import DeclaredKey, MetadataType, ProjectSettings
from tests.db.filter_rows import NUMBERS, PATTERNS, TEXTS, TIMES
from tests.db.populated import Explaining, Plan
from tests.fixtures.database import (
    MODEL,
    TestDatabase,
    clone_database,
    make_project,
    service_principal,
    user_principal,
)
from tests.unit.filter_oracle import holds

pytestmark = pytest.mark.xdist_group("declared_filters")

LONG = "x" * INDEXED_CHARACTERS
VALUES: dict[str, list[Any]] = {
    "text": [*TEXTS, LONG, LONG + "a", LONG + "b"],
    "number": [*NUMBERS, 2**53 + 3, -(2**53) - 1],
    "time": TIMES,
    "bool": [True, False],
    "map.inner": TEXTS,
}
DECLARED = ProjectSettings(
    metadata_keys=[
        DeclaredKey("text", MetadataType.STRING),
        DeclaredKey("number", MetadataType.NUMBER),
        DeclaredKey("time", MetadataType.TIME),
        DeclaredKey("bool", MetadataType.BOOL),
        DeclaredKey("map.inner", MetadataType.STRING),
    ]
)
BIG, SMALL = 20_000, 300


def some_metadata(chance: random.Random) -> dict[str, Any]:
    found = {name: chance.choice([None, *values]) for name, values in VALUES.items() if chance.random() < 0.8}
    inner = found.pop("map.inner", None)
    return {**found, "map": {"inner": inner, "other": 1}, "free": chance.choice(TEXTS)}


CHANCE = random.Random(11)
ROWS = {f"m-{number}": some_metadata(CHANCE) for number in range(SMALL)}


@pytest.mark.parametrize("name", VALUES)
def test_the_indexed_form_sorts_as_the_values_do(name: str) -> None:
    for one in VALUES[name]:
        for other in VALUES[name]:
            assert (one < other) <= (indexed(one) <= indexed(other))
            assert (one == other) <= (indexed(one) == indexed(other))


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    name = draw(st.sampled_from([*VALUES, "free"]))
    values = st.sampled_from(VALUES.get(name, TEXTS))
    textual = (
        [Comparator.PREFIX, Comparator.CONTAINS, Comparator.MATCHES] if name in ("text", "map.inner") else []
    )
    ordered = [Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE] if name != "bool" else []
    path = ("metadata", *name.split("."))
    comparator = draw(st.sampled_from([Comparator.EQ, Comparator.IN, Comparator.EXISTS, *ordered, *textual]))
    match comparator:
        case Comparator.EXISTS:
            return Comparison(path, comparator)
        case Comparator.IN:
            return Comparison(path, comparator, draw(st.lists(values, min_size=1, max_size=3)))
        case Comparator.MATCHES:
            return Comparison(path, comparator, [draw(st.sampled_from(PATTERNS))])
        case Comparator.EQ:
            return Comparison(path, comparator, [draw(st.one_of(st.none(), values))])
        case _:
            return Comparison(path, comparator, [draw(values)])


def trees() -> st.SearchStrategy[Filter]:
    def grow(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        several = st.lists(parts, min_size=1, max_size=3)
        return st.one_of(parts.map(Negated), several.map(AllOf), several.map(AnyOf))

    return st.recursive(comparisons(), grow, max_leaves=6)


class Tenants:
    """One tenant of many rows beside a small one that holds every odd value, in a database of their own."""

    def __init__(self, database: TestDatabase) -> None:
        self.database = database
        self.big, self.small = make_project(database), make_project(database)

    @asynccontextmanager
    async def entered(
        self, project_id: UUID, principal: Principal | None = None
    ) -> AsyncIterator[Explaining]:
        pool = await open_pool(self.database.app_url, size=1)
        principal = principal or service_principal(project_id)
        async with tenant_transaction(Database(pool), principal, "", timeout=60) as connection:
            yield Explaining(**{**vars(connection), "settings": DECLARED})
        await pool.close()


INSERT = """
INSERT INTO ricordo.memory (project_id, store_id, memory_id, kind, content, scope_key, visibility, metadata, language)
SELECT s.project_id, s.store_id, %(id)s, 'SEMANTIC', 'common word', 'shared', 'PROJECT', %(metadata)s, 'english'
FROM ricordo.store AS s WHERE s.project_id = %(project)s
"""


@pytest.fixture(scope="module")
def tenants(postgres: embedded.EmbeddedPostgres, worker_id: str) -> Tenants:
    name = f"ricordo_declared_{worker_id}"
    clone_database(postgres, name)
    tenants = Tenants(TestDatabase(postgres, name))
    big: dict[str, dict[str, Any]] = {
        f"m-{number}": {"number": number, "text": f"plan {number % 500}"} for number in range(BIG)
    }
    with psycopg.connect(tenants.database.superuser_url) as connection, connection.cursor() as cursor:
        for project_id, rows in ((tenants.big, big), (tenants.small, ROWS)):
            cursor.executemany(
                INSERT,
                [
                    {"project": project_id, "id": memory_id, "metadata": Jsonb(encode_metadata(metadata))}
                    for memory_id, metadata in rows.items()
                ],
            )
    with psycopg.connect(tenants.database.superuser_url, autocommit=True) as connection:
        connection.execute("ANALYZE ricordo.memory")  # foreign keys are checked by its statistics
    asyncio.run(index(tenants))
    with psycopg.connect(tenants.database.superuser_url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
    return tenants


async def index(tenants: Tenants) -> None:
    for project_id in (tenants.big, tenants.small):
        async with tenants.entered(project_id) as connection:
            await index_memories(connection, DECLARED.declared)


async def found(connection: Explaining, tree: Filter, *, narrowed: bool = True) -> set[str]:
    known = connection if narrowed else replace(connection, settings=ProjectSettings())
    page = await list_memories(known, MemoryQuery(filter=tree), [], PageRequest(1_000))
    return {memory.memory_id for memory in page.items}


async def test_what_is_found_is_what_the_oracle_and_jsonb_alone_find(tenants: Tenants) -> None:
    drawn: list[Filter] = []

    @settings(max_examples=400, deadline=None, database=None)
    @given(tree=trees())
    def draw(tree: Filter) -> None:
        drawn.append(tree)

    draw()
    async with tenants.entered(tenants.small) as connection:
        for tree in drawn:
            expected = {name for name, metadata in ROWS.items() if holds(tree, {"metadata": metadata})}
            assert await found(connection, tree) == expected, tree
            assert await found(connection, tree, narrowed=False) == expected, tree


def scans_memories(plan: Plan) -> bool:
    scanned = [node["Relation Name"] for node in plan.nodes if node["Node Type"] == "Seq Scan"]
    return any(re.fullmatch(r"memory_p\d+", name) for name in scanned)


FEW: dict[str, Filter] = {
    "equal": Comparison(("metadata", "text"), Comparator.EQ, ["plan 77"]),
    "one of": Comparison(("metadata", "text"), Comparator.IN, ["plan 77", "plan 78"]),
    "prefix": Comparison(("metadata", "text"), Comparator.PREFIX, ["plan 49"]),
    "less": Comparison(("metadata", "number"), Comparator.LT, [30]),
    "between": AllOf(
        [
            Comparison(("metadata", "number"), Comparator.GE, [10_000]),
            Comparison(("metadata", "number"), Comparator.LT, [10_050]),
        ]
    ),
    "either": AnyOf(
        [
            Comparison(("metadata", "number"), Comparator.EQ, [5]),
            Comparison(("metadata", "text"), Comparator.EQ, ["plan 77"]),
        ]
    ),
}


@pytest.mark.parametrize("name", FEW)
async def test_a_selective_filter_reads_the_index_then_its_rows_alone(tenants: Tenants, name: str) -> None:
    tree = FEW[name]
    async with tenants.entered(tenants.big) as connection:
        assert await found(connection, tree) == await found(connection, tree, narrowed=False) != set()
        *ids, listed, _ = connection.plans
        for plan in ids:
            assert plan.indexes == {"memory_attribute_value"}
        assert listed.indexes & {"memory_pkey"}
        assert not scans_memories(listed)


@pytest.mark.parametrize("bound", [False, True], ids=["service", "user"])
async def test_searches_look_at_the_ids_that_the_index_gives(tenants: Tenants, bound: bool) -> None:
    principal = user_principal(tenants.big, "ann") if bound else None
    async with tenants.entered(tenants.big, principal) as connection:
        searched = await memories_db.narrowed(connection, MemoryQuery(filter=FEW["equal"]))
        assert len(await search_by_text(connection, searched, "word", 50)) == BIG // 500
        await search_by_vector(connection, searched, [1.0] * MODEL.dimension, 50)
        ids, *legs = connection.plans
    assert ids.indexes == {"memory_attribute_value"}
    assert len(legs) == 3
    for plan in legs:
        assert "memory_pkey" in plan.indexes
        assert not scans_memories(plan)


async def test_a_filter_that_most_rows_pass_still_reads_a_page_only(tenants: Tenants) -> None:
    most = Comparison(("metadata", "number"), Comparator.GE, [1])
    async with tenants.entered(tenants.big) as connection:
        page = await list_memories(connection, MemoryQuery(filter=most), [], PageRequest(50))
        _, listed = connection.plans
    assert len(page.items) == 50
    assert "memory_pkey" not in listed.indexes


def test_times_before_the_year_1000_sort_too() -> None:
    early = datetime(33, 1, 1, tzinfo=UTC)
    assert indexed(early) < indexed(early + timedelta(days=400_000))
