"""Made-up tenants: texts with topics and a long tail of words, loaded through the service itself."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from random import Random
from uuid import UUID

import psycopg
from uuid_utils.compat import uuid7

from benchmarks.stack import Stack
from ricordo import AsyncClient
from ricordo.models import NewMemory, Scope
from ricordo_server.db.installation import create_project

VOCABULARY, TOPICS, TOPIC_WORDS = 4_000, 200, 30
# The most frequent words of a language are its stop words, which no index holds: the ranks begin behind them.
FIRST_RANK = 20
BUCKETS = 100
BATCH, LOADERS = 250, 2
USERS = 50


class Texts:
    """Sentences about one of a few topics each; the same seed, the same sentences."""

    def __init__(self, seed: int = 7) -> None:
        self._random = Random(seed)
        words = Random(1)
        self._words = [_make_word(words) for _ in range(VOCABULARY)]
        self._frequencies = list(accumulate(1 / (FIRST_RANK + rank) for rank in range(VOCABULARY)))
        self._topics = [words.sample(self._words, TOPIC_WORDS) for _ in range(TOPICS)]

    def sentence(self) -> str:
        return self._about(self._random.randint(6, 15), self._random.randint(4, 10))

    def query(self) -> str:
        return self._about(3, 2)

    def _about(self, of_topic: int, of_all: int) -> str:
        topic = self._random.choice(self._topics)
        words = self._random.choices(topic, k=of_topic)
        words += self._random.choices(self._words, cum_weights=self._frequencies, k=of_all)
        self._random.shuffle(words)
        return " ".join(words)


def _make_word(random: Random) -> str:
    syllables = (random.choice("bcdfglmnprstv") + random.choice("aeiou") for _ in range(random.randint(2, 4)))
    return "".join(syllables)


@dataclass(frozen=True)
class Tenant:
    """A project with its store `default`, and how many memories it holds."""

    project_id: UUID
    store_id: UUID
    rows: int

    @property
    def token(self) -> str:
        return f"development:{self.project_id}"


def make_tenant(stack: Stack, rows: int, *, place: int = 0) -> Tenant:
    """An empty tenant; those of one place share a hash partition, and so a graph: the worst case for each of them."""
    with psycopg.connect(stack.superuser_url) as connection:
        project_id = uuid7()
        while _partition(connection, project_id) != place:
            project_id = uuid7()
        create_project(stack.operator_url, project_id, f"{rows} rows")
        row = connection.execute(
            "SELECT store_id FROM ricordo.store WHERE project_id = %s AND name = 'default'", [project_id]
        ).fetchone()
    assert row
    return Tenant(project_id, row[0], rows)


def _partition(connection: psycopg.Connection, project_id: UUID) -> int:
    row = connection.execute(
        "WITH parts AS (SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'ricordo.memory'::regclass)"
        " SELECT remainder FROM parts, generate_series(0, n - 1) AS remainder"
        " WHERE satisfies_hash_partition('ricordo.memory'::regclass, n, remainder, %s::uuid)",
        [project_id],
    ).fetchone()
    assert row
    return int(row[0])


async def fill(stack: Stack, tenant: Tenant, texts: Texts) -> None:
    """Saves the tenant's memories, in batches; `metadata.bucket` runs from 0 to 99 for filters."""
    batches = _batches(tenant.rows, texts)
    async with AsyncClient(stack.target, token=tenant.token, timeout=60) as client:

        async def load() -> None:
            for batch in batches:
                results = await client.memories.batch_create(batch)
                assert all(result.memory for result in results)

        await asyncio.gather(*(load() for _ in range(LOADERS)))


def _batches(rows: int, texts: Texts) -> Iterator[Sequence[NewMemory]]:
    memories = (memory(texts.sentence(), number) for number in range(rows))
    while batch := list(islice(memories, BATCH)):
        yield batch


def memory(content: str, number: int) -> NewMemory:
    return NewMemory(
        content=content,
        scope=Scope(user_id=f"user-{number % USERS}"),
        metadata={"bucket": number % BUCKETS},
    )


def analyse(stack: Stack) -> None:
    """What the housekeeping job does: autovacuum never analyses partitioned parents."""
    with psycopg.connect(stack.superuser_url, autocommit=True) as connection:
        for table in ("memory", "memory_embedding", "turn", "turn_embedding", "session"):
            connection.execute(f"VACUUM ANALYZE ricordo.{table}")
