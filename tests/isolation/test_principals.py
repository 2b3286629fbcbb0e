"""What a principal may do holds also when the code above forgets to ask: statements are run without their checks."""

from collections.abc import Awaitable
from uuid import UUID

import pytest

from ricordo_server.db import memories as memories_db
from ricordo_server.db import projects as projects_db
from ricordo_server.db.connection import Database, project_transaction, tenant_transaction
from ricordo_server.domain.errors import DomainError
from ricordo_server.domain.memory import MemoryDraft, MemoryKind
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.domain.project_settings import ProjectSettings
from ricordo_server.domain.scope import Scope, Visibility
from tests.fixtures.database import service_principal, user_principal

PROJECT, PRIVATE = Visibility.PROJECT, Visibility.PRIVATE


def draft(user_id: str | None, visibility: Visibility = PRIVATE) -> MemoryDraft:
    return MemoryDraft(kind=MemoryKind.SEMANTIC, content="tea", scope=Scope(user_id), visibility=visibility)


async def insert(database: Database, principal: Principal, *drafts: MemoryDraft) -> int:
    async with tenant_transaction(database, principal, "", timeout=30) as connection:
        named = [(f"m-{number}", each) for number, each in enumerate(drafts)]
        return len([row for row in await memories_db.insert_memories(connection, named) if row])


async def change(database: Database, principal: Principal, **changes: object) -> bool:
    async with tenant_transaction(database, principal, "", timeout=30) as connection:
        return await memories_db.update_memory(connection, "m-0", changes, None) is not None


async def allow_publishing(database: Database, principal: Principal) -> None:
    async with project_transaction(database.pool, principal, timeout=30) as connection:
        await projects_db.update_project(connection, ProjectSettings(end_users_may_publish=True))


async def refused(attempt: Awaitable[object]) -> str:
    with pytest.raises(DomainError) as caught:
        await attempt
    return caught.value.reason


@pytest.fixture
def service(project_id: UUID) -> Principal:
    return service_principal(project_id)


@pytest.fixture
def ann(project_id: UUID) -> Principal:
    return user_principal(project_id, "ann", "team")


def reader(project_id: UUID, *user_ids: str) -> Principal:
    kind = PrincipalKind.USER if user_ids else PrincipalKind.SERVICE
    return Principal("reader", kind, project_id, frozenset({Role.READER}), user_ids)


@pytest.mark.parametrize("user_ids", [(), ("ann",)])
async def test_a_reader_writes_nothing(
    app_database: Database, project_id: UUID, service: Principal, user_ids: tuple[str, ...]
) -> None:
    assert (
        await refused(insert(app_database, reader(project_id, *user_ids), draft("ann")))
        == "PERMISSION_DENIED"
    )
    await insert(app_database, service, draft("ann"))
    assert not await change(app_database, reader(project_id, *user_ids), title="x")


async def test_a_user_writes_for_itself_and_for_its_team(app_database: Database, ann: Principal) -> None:
    assert await insert(app_database, ann, draft("ann"), draft("team")) == 2


@pytest.mark.parametrize("user_id", ["bob", None])
async def test_a_user_writes_in_nobody_else_s_name(
    app_database: Database, ann: Principal, user_id: str | None
) -> None:
    assert await refused(insert(app_database, ann, draft(user_id))) == "PERMISSION_DENIED"


async def test_a_user_publishes_only_where_the_project_lets_it(
    app_database: Database, service: Principal, ann: Principal
) -> None:
    assert await refused(insert(app_database, ann, draft("ann", PROJECT))) == "PERMISSION_DENIED"
    await insert(app_database, ann, draft("ann"))
    assert await refused(change(app_database, ann, visibility=PROJECT)) == "PERMISSION_DENIED"
    await allow_publishing(app_database, service)
    assert await change(app_database, ann, visibility=PROJECT)


async def test_the_setting_lets_nobody_publish_for_another(
    app_database: Database, service: Principal, ann: Principal
) -> None:
    await allow_publishing(app_database, service)
    assert await refused(insert(app_database, ann, draft("bob", PROJECT))) == "PERMISSION_DENIED"


async def test_an_acting_service_is_held_to_the_user(app_database: Database, service: Principal) -> None:
    acting = service.acting_as("ann")
    assert await refused(insert(app_database, acting, draft("bob"))) == "PERMISSION_DENIED"
    assert await refused(insert(app_database, acting, draft("ann", PROJECT))) == "PERMISSION_DENIED"
    assert await insert(app_database, acting, draft("ann")) == 1


async def test_only_an_administrator_changes_the_project(
    app_database: Database, project_id: UUID, service: Principal, ann: Principal
) -> None:
    writer = Principal("writer", PrincipalKind.SERVICE, project_id, frozenset({Role.WRITER}))
    for principal in (writer, ann, service.acting_as("ann"), reader(project_id)):
        async with project_transaction(app_database.pool, principal, timeout=30) as connection:
            assert await projects_db.update_project(connection, ProjectSettings()) is None


async def test_what_a_user_deletes_it_takes_back_from_everyone(
    app_database: Database, service: Principal, ann: Principal
) -> None:
    await insert(app_database, service, draft("ann", PROJECT))
    async with tenant_transaction(app_database, ann, "", timeout=30) as connection:
        deleted = await memories_db.delete_memory(connection, "m-0", None)
    assert deleted
    assert deleted.visibility is PRIVATE


async def test_a_service_s_deletion_leaves_the_visibility(app_database: Database, service: Principal) -> None:
    await insert(app_database, service, draft("ann", PROJECT))
    async with tenant_transaction(app_database, service, "", timeout=30) as connection:
        deleted = await memories_db.delete_memory(connection, "m-0", None)
    assert deleted
    assert deleted.visibility is PROJECT
