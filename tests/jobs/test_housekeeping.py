"""What has had its time goes; what has not stays."""

import time
from uuid import UUID

import psycopg
import pytest

from ricordo_server.app import housekeeping
from ricordo_server.config import Settings
from ricordo_server.db.tables import PARTITIONED
from ricordo_server.domain.call import Call
from ricordo_server.domain.principal import HOUSEKEEPER
from ricordo_server.server import open_services
from tests.fixtures.database import TestDatabase, make_project

MEMORY = """
INSERT INTO ricordo.memory (project_id, store_id, memory_id, kind, content, scope_key, visibility, language,
  expire_time, delete_time)
SELECT project_id, store_id, %(memory_id)s, 'SEMANTIC', 'x', '', 'PRIVATE', 'english',
  now() + %(expires)s::interval, now() + %(deleted)s::interval
FROM ricordo.store WHERE project_id = %(project_id)s AND name = %(store)s
"""
ANSWER = """
INSERT INTO ricordo.idempotency (project_id, principal_id, user_id, method, request_id, payload_digest, create_time)
VALUES (%s, 'p', '', 'm', %s, 'd', now() + %s::interval)
"""


def call() -> Call:
    return Call(HOUSEKEEPER, time.monotonic() + 300)


@pytest.fixture
def furnished(database: TestDatabase) -> UUID:
    project_id = make_project(database, "other")
    rows = {
        "kept": (None, None),
        "later": ("1 day", None),
        "expired": ("-1 second", None),
        "deleted": (None, "-29 days"),
        "old": (None, "-31 days"),
    }
    with psycopg.connect(database.superuser_url) as connection:
        for store in ("default", "other"):
            for memory_id, (expires, deleted) in rows.items():
                values = {"memory_id": memory_id, "expires": expires, "deleted": deleted}
                connection.execute(MEMORY, {**values, "project_id": project_id, "store": store})
        for owner in (project_id, UUID(int=0)):
            for request_id, age in ((f"new {project_id}", "-23 hours"), (f"old {project_id}", "-25 hours")):
                connection.execute(ANSWER, [owner, request_id, age])
    return project_id


def read(database: TestDatabase, statement: str, project_id: UUID) -> list[tuple[object, ...]]:
    with psycopg.connect(database.superuser_url) as connection:
        return connection.execute(statement, [project_id]).fetchall()


async def test_memories_go_when_their_time_is_over(
    database: TestDatabase, settings: Settings, furnished: UUID
) -> None:
    async with open_services(settings, pool_size=2) as services:
        await housekeeping.sweep(services, call())
    left = (
        "SELECT memory_id, delete_time IS NULL FROM ricordo.memory WHERE project_id = %s ORDER BY 1, store_id"
    )
    expected = [("deleted", False), ("expired", False), ("kept", True), ("later", True)]
    assert read(database, left, furnished) == [row for row in expected for _ in ("default", "other")]


async def test_an_expiry_is_a_revision(database: TestDatabase, settings: Settings, furnished: UUID) -> None:
    async with open_services(settings, pool_size=2) as services:
        await housekeeping.sweep(services, call())
    revisions = "SELECT memory_id, revision, action FROM ricordo.memory_revision WHERE project_id = %s"
    assert read(database, revisions, furnished) == [("expired", 2, "DELETED")] * 2


@pytest.mark.parametrize("owner", ["project", "installation"])
async def test_request_ids_are_forgotten_after_a_day(
    database: TestDatabase, settings: Settings, furnished: UUID, owner: str
) -> None:
    async with open_services(settings, pool_size=2) as services:
        await housekeeping.sweep(services, call())
    project_id = furnished if owner == "project" else UUID(int=0)
    kept = "SELECT request_id FROM ricordo.idempotency WHERE project_id = %s"
    found = {request_id for (request_id,) in read(database, kept, project_id)}
    assert {f"new {furnished}", f"old {furnished}"} & found == {f"new {furnished}"}


async def test_more_than_a_batch_is_swept(
    database: TestDatabase, settings: Settings, furnished: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_ROWS", 1)
    monkeypatch.setattr(housekeeping, "STORES_A_PAGE", 1)
    async with open_services(settings, pool_size=2) as services:
        await housekeeping.sweep(services, call())
    left = "SELECT count(*) FROM ricordo.memory WHERE project_id = %s"
    assert read(database, left, furnished) == [(8,)]


async def test_partitioned_tables_get_statistics(
    database: TestDatabase, settings: Settings, furnished: UUID
) -> None:
    async with open_services(settings, pool_size=2) as services:
        await housekeeping.analyze_parents(services, call())
    analysed = """
    SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind = 'p'
      AND c.reltuples < 0 AND %s::uuid IS NOT NULL
    """
    assert PARTITIONED
    assert read(database, analysed, furnished) == []


async def test_what_is_removed_is_used_no_more(
    settings: Settings, furnished: UUID, database: TestDatabase
) -> None:
    async with open_services(settings, pool_size=4) as services:
        await housekeeping.sweep(services, call())
    statement = "SELECT sum(stored_memories) FROM ricordo.usage WHERE project_id = %s"
    [(used,)] = read(database, statement, furnished)
    [(there,)] = read(database, "SELECT count(*) FROM ricordo.memory WHERE project_id = %s", furnished)
    assert used == there
