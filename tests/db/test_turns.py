"""What pipelined statements of turns and stores make of a failure in the first of them."""

from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import stores as stores_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import (
    Database,
    TenantConnection,
    enter_store,
    project_transaction,
    tenant_transaction,
)
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import TurnDraft
from tests.fixtures.database import TestDatabase, make_project, service_principal

SCOPE = Scope(user_id="ann", session_id="s1")


async def record(
    connection: TenantConnection, turn_id: str = "t1", **fields: Any
) -> list[turns_db.NumberedTurn]:
    draft = TurnDraft("user", "hello", **fields)
    async with connection.pipeline():
        await sessions_db.lock_session(connection, SCOPE)
        numbered, _ = await turns_db.record_turns(connection, SCOPE, [(turn_id, draft)], None)
    return numbered


async def test_a_lock_that_takes_too_long_is_a_deadline_not_a_broken_database(
    app_database: Database, database: TestDatabase, project_id: UUID
) -> None:
    principal = service_principal(project_id)
    async with tenant_transaction(app_database, principal, "", timeout=30) as connection:
        await record(connection)

    async def record_behind_the_lock() -> None:
        async with tenant_transaction(app_database, principal, "", timeout=0.3) as connection:
            await record(connection, "t2")

    with psycopg.connect(database.superuser_url) as blocker:
        blocker.execute("SELECT FROM ricordo.session WHERE project_id = %s FOR UPDATE", [project_id])
        with pytest.raises(DomainError) as refused:
            await record_behind_the_lock()
    assert refused.value.reason is Reason.DEADLINE_EXCEEDED


async def test_a_store_deleted_under_a_writer_is_a_conflict_to_try_again(
    app_database: Database, database: TestDatabase
) -> None:
    principal = service_principal(make_project(database, "notes"))

    async def record_too_late() -> None:
        async with tenant_transaction(app_database, principal, "notes", timeout=30) as connection:
            async with project_transaction(app_database.pool, principal, timeout=30) as other:
                await stores_db.delete_store(await enter_store(other, "notes"))
            await record(connection)

    with pytest.raises(DomainError) as refused:
        await record_too_late()
    assert refused.value.reason is Reason.WRITE_CONFLICT


async def test_times_follow_the_numbers_when_the_clock_is_set_back(
    tenant: TenantConnection, database: TestDatabase
) -> None:
    [first] = await record(tenant)
    await tenant.execute("UPDATE ricordo.session SET last_activity_time = now() + interval '1 hour'")
    [second] = await record(tenant, "t2")
    [third] = await record(tenant, "t3")
    assert [first.turn_seq, second.turn_seq, third.turn_seq] == [1, 2, 3]
    assert first.create_time < second.create_time <= third.create_time


async def test_a_known_key_neither_numbers_nor_touches_the_session(tenant: TenantConnection) -> None:
    [first] = await record(tenant, idempotency_key="k")
    before = await sessions_db.get_session(tenant, SCOPE)
    [again] = await record(tenant, "t2", idempotency_key="k")
    assert (again.turn_id, again.turn_seq, again.created) == ("t1", first.turn_seq, False)
    assert await sessions_db.get_session(tenant, SCOPE) == before
