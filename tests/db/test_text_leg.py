"""The indexed text leg answers what the plain road under row-level security answers, whatever is asked.

RICORDO_TEXT_QUERIES sets the number of random queries (the longer proof: 10000).
"""

import os
import random
from collections.abc import AsyncIterator
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Table, bindparam, func, select
from sqlalchemy.dialects.postgresql import TSQUERY

from ricordo_server import embedded
from ricordo_server.db import memories, turns
from ricordo_server.db.conditions import in_tenant
from ricordo_server.db.connection import Database, TenantConnection, tenant_transaction
from ricordo_server.db.search import Searched, search_by_text
from ricordo_server.domain.memory import MemoryQuery
from ricordo_server.domain.principal import Principal
from ricordo_server.domain.session import TurnQuery
from tests.db.populated import Explaining
from tests.fixtures.database import (
    TestDatabase,
    clone_database,
    make_project,
    service_principal,
    user_principal,
)
from tests.isolation.tenants import insert_row

pytestmark = pytest.mark.xdist_group("text_leg")

QUERIES = int(os.environ.get("RICORDO_TEXT_QUERIES", "100"))
ROWS = 200
LANGUAGES = ["english", "german", "simple"]

WORDS = [
    "tea", "teas", "green", "running", "ran", "Straße", "Häuser", "the", "not", "and", "café", "naïve",
    "CAFÉ", "喜欢", "绿茶", "我喜欢喝绿茶", "東京タワー", "ชาเขียว", "한국어", "зелёный", "שלום",
    "مرحبا", "e\u0301", "ﬁ", "İ", "ß", "'", "''", "it's", "O'Neill", "\"", "\"tea green\"", "\\", "\\'",
    "\\\\'", "'\\", "%", "%s", "%(query)s", "$1", "$$", "&", "|", "!", "!tea", "tea & green",
    "tea | green", "<->", "tea <-> green", "<2>", ":*", "te:*", "tea:A", "(", ")", "((tea", "a?b=1&c=2",
    "https://example.org/tea/green?x=1", "ann@example.org", "/docs/tea.md", "green-tea", "_", "-",
    "3.14", "-1", "1e9", "2026-01-31", "\t", "\n", "\u200b", "\u00a0", "\U0001f600",
    "\U0001f468\u200d\U0001f469", "\ufeff", ";", "'; DROP TABLE memory; --", "<tag>", "&amp;", "{a,b}",
    "[1]", "x" * 60, "\x7f", "\x01",
]  # fmt: skip


DROP_OTHER_ROADS = """
ALTER TABLE ricordo.memory DROP CONSTRAINT memory_pkey CASCADE;
ALTER TABLE ricordo.turn DROP CONSTRAINT turn_pkey CASCADE,
  DROP CONSTRAINT turn_project_id_store_id_scope_key_turn_seq_key;
DROP INDEX ricordo.memory_key, ricordo.memory_by_key, ricordo.memory_create_time, ricordo.memory_user,
  ricordo.memory_scope, ricordo.memory_expire_time, ricordo.memory_delete_time, ricordo.turn_idempotency_key,
  ricordo.turn_create_time, ricordo.turn_user
"""


def some_text(chance: random.Random) -> str:
    """Words in a row, with or without spaces between them."""
    return chance.choice([" ", " ", ""]).join(chance.choices(WORDS, k=chance.randint(1, 6)))


@pytest.fixture(scope="module")
def database(postgres: embedded.EmbeddedPostgres, worker_id: str) -> TestDatabase:
    """Only the GIN indexes are left: of few rows the planner would rather read all of the tenant's."""
    name = f"ricordo_text_{worker_id}"
    clone_database(postgres, name)
    cloned = TestDatabase(postgres, name)
    with psycopg.connect(cloned.superuser_url) as connection:
        connection.execute(DROP_OTHER_ROADS)
    return cloned


@pytest.fixture(scope="module")
def principals(database: TestDatabase) -> dict[str, Principal]:
    """Of a project whose texts have each word, by several users and in several languages."""
    project_id = make_project(database)
    chance = random.Random(11)
    texts = WORDS + [some_text(chance) for _ in range(ROWS - len(WORDS))]
    with psycopg.connect(database.superuser_url) as connection:
        found = connection.execute(
            "UPDATE ricordo.store SET languages_in_use = %s WHERE project_id = %s RETURNING store_id",
            [LANGUAGES, project_id],
        ).fetchone()
        assert found
        tenant = {"project_id": project_id, "store_id": found[0]}
        for session in ("ann", "bob"):
            values = {
                "scope_key": session,
                "user_id": session,
                "session_id": session,
                "root_session_id": session,
            }
            insert_row(connection, "session", {**tenant, **values})
        for number, text in enumerate(texts):
            common = {
                **tenant,
                "user_id": chance.choice(["ann", "bob"]),
                "content": text,
                "language": chance.choice(LANGUAGES),
                "create_time": "2026-01-31T12:00:00Z",
            }
            own_memory = {
                "memory_id": str(number),
                "kind": "SEMANTIC",
                "key": chance.choice([None, *WORDS]),
                "title": chance.choice(["", *WORDS]),
                "visibility": chance.choice(["PRIVATE", "PROJECT"]),
                "scope_key": str(number),
            }
            own_turn = {
                "turn_id": str(number),
                "scope_key": common["user_id"],
                "session_id": common["user_id"],
                "turn_seq": number,
                "role": "user",
                "event_time": "2026-01-31T12:00:00Z",
            }
            insert_row(connection, "memory", {**common, **own_memory})
            insert_row(connection, "turn", {**common, **own_turn})
    return {"service": service_principal(project_id), "user": user_principal(project_id, "ann")}


@pytest.fixture(params=["service", "user"])
async def connection(
    request: pytest.FixtureRequest, app_database: Database, principals: dict[str, Principal]
) -> AsyncIterator[TenantConnection]:
    async with tenant_transaction(app_database, principals[request.param], "", timeout=300) as entered:
        await entered.execute("SELECT set_config('enable_seqscan', 'off', true)")
        yield entered


@pytest.fixture(params=["memory", "turn"])
def searched(request: pytest.FixtureRequest) -> Searched:
    return {
        "memory": memories.searched(MemoryQuery()),
        "turn": turns.searched(TurnQuery()),
    }[request.param]


async def by_index(connection: TenantConnection, searched: Searched, query: str) -> set[str]:
    return {found.item_id for found in await search_by_text(connection, searched, query, 2 * ROWS)}


async def by_plain_road(connection: TenantConnection, table: Table, query: str) -> set[str]:
    """As ricordo_app, whose policy knows nothing of words."""
    text = func.ricordo.text_query(bindparam("query"), bindparam("languages"))
    words = table.c.tsv.op("@@")(text.cast(TSQUERY))
    item_id = list(table.primary_key)[-1]
    statement = select(item_id.label("item_id")).where(in_tenant(table, connection), words)
    parameters = {"query": query, "languages": list(connection.languages_in_use)}
    return {row["item_id"] for row in await connection.fetch_all(statement, parameters)}


async def test_both_roads_find_the_same_rows(connection: TenantConnection, searched: Searched) -> None:
    chance = random.Random(f"{searched.table.name}")
    differing, found = [], 0
    for _ in range(QUERIES):
        query = some_text(chance)
        expected = await by_plain_road(connection, searched.table, query)
        found += len(expected)
        if await by_index(connection, searched, query) != expected:
            differing.append(query)
    assert differing == []
    assert found > QUERIES  # queries that found nothing would prove nothing


async def test_the_two_roads_are_two(connection: TenantConnection, searched: Searched) -> None:
    explaining = Explaining(**vars(connection))
    await by_index(explaining, searched, "tea green")
    await by_plain_road(explaining, searched.table, "tea green")
    indexed, plain = (plan.indexes for plan in explaining.plans)
    assert (indexed, plain) == (frozenset({f"{searched.table.name}_tsv"}), frozenset())


async def test_every_text_finds_itself(app_database: Database, principals: dict[str, Principal]) -> None:
    """Every text with a word in its own language, so no character breaks the query made of it."""
    searched = memories.searched(MemoryQuery())
    async with tenant_transaction(app_database, principals["service"], "", timeout=60) as connection:
        statement = select(searched.table.c.memory_id, searched.table.c.content).where(
            in_tenant(searched.table, connection),
            func.length(
                func.to_tsvector(
                    func.ricordo.text_config(searched.table.c.language),
                    func.ricordo.search_text(searched.table.c.content),
                )
            )
            > 0,
        )
        rows = await connection.fetch_all(statement)
        lost = [
            row["content"]
            for row in rows
            if row["memory_id"] not in await by_index(connection, searched, row["content"])
        ]
    assert lost == []
    assert len(rows) > ROWS / 2


@pytest.mark.parametrize("query", ["", " ", "the", "& | !", "'", "\\", "():*<->"])
async def test_a_query_without_words_finds_nothing(
    app_database: Database, project_id: UUID, query: str
) -> None:
    async with tenant_transaction(app_database, service_principal(project_id), "", timeout=30) as connection:
        assert await search_by_text(connection, memories.searched(MemoryQuery()), query, 10) == []


@pytest.mark.parametrize("text", [word for word in WORDS if word.strip().isalpha()])
async def test_the_operators_of_a_query_are_words(
    app_database: Database, principals: dict[str, Principal], text: str
) -> None:
    """`!tea` does not mean "without tea": it finds what `tea` finds."""
    searched = memories.searched(MemoryQuery())
    async with tenant_transaction(app_database, principals["service"], "", timeout=30) as connection:
        plain = await by_index(connection, searched, text)
        for query in (
            f"!{text}",
            f"({text}",
            f"{text}:*",
            f"{text} & !{text}",
            f"'{text}'",
            f"{text} <-> {text}",
        ):
            assert await by_index(connection, searched, query) == plain, query


async def test_a_word_of_chinese_is_found_within_a_sentence(
    app_database: Database, principals: dict[str, Principal]
) -> None:
    searched = memories.searched(MemoryQuery())
    async with tenant_transaction(app_database, principals["service"], "", timeout=30) as connection:
        sentence = await by_index(connection, searched, "我喜欢喝绿茶")
        assert await by_index(connection, searched, "绿茶") <= sentence != set()


async def test_the_leg_leaves_its_role(app_database: Database, principals: dict[str, Principal]) -> None:
    async with tenant_transaction(app_database, principals["service"], "", timeout=30) as connection:
        await search_by_text(connection, memories.searched(MemoryQuery()), "tea", 10)
        assert await connection.fetch_one("SELECT current_user::text AS role") == {"role": "ricordo_app"}


async def test_the_text_role_sees_less_than_the_app_role(
    app_database: Database, principals: dict[str, Principal]
) -> None:
    searched = memories.searched(MemoryQuery())
    async with tenant_transaction(app_database, principals["user"], "", timeout=30) as connection:
        statement = select(searched.table.c.memory_id.label("item_id")).where(
            in_tenant(searched.table, connection)
        )
        visible = {row["item_id"] for row in await connection.fetch_all(statement)}
        assert await by_index(connection, searched, "tea") < visible
