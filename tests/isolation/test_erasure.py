"""Erasure: of a project, and of an end user, nothing is left in any table, also in one that a later revision brings.

Every column of every table that can take one gets a canary. Tables and columns come from the catalogue.
"""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import grpc.aio
import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from ricordo.v1 import (
    admin_service_pb2,
    erasure_pb2,
    memory_service_pb2,
    project_service_pb2,
    project_service_pb2_grpc,
)
from ricordo_server.app import erasure
from ricordo_server.db.tables import PROJECT_TABLES
from tests.fixtures.calls import OPERATOR, as_service, as_user, refusal
from tests.fixtures.database import TestDatabase, make_project
from tests.fixtures.stubs import Admin, Memories

Connection = psycopg.Connection[Any]

# What a check or a meaning leaves no choice in.
FIXED: dict[str, Any] = {
    "visibility": "PRIVATE",
    "access": "READ",
    "outcome": "DONE",
    "action": "CreateStore",
    "language": "english",
    "kind": "SEMANTIC",
    "role": "writer",
    "state": "PENDING",
    "trigger": "MANUAL",
}
# Of a user: what stays is the project's own.
OF_PROJECT = ("project", "store", "service_account", "service_account_secret", "pipeline", "pipeline_run")

COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL), a.attnotnull
FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum
"""
# Parents before what hangs on them.
TABLES = "SELECT name FROM ricordo.tables_to_erase('project_id') WITH ORDINALITY ORDER BY ordinality DESC"
EVERY_TABLE = """
SELECT c.oid::regclass::text FROM pg_class c
WHERE c.relkind IN ('r', 'm') AND c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
"""


@pytest.fixture
def superuser(database: TestDatabase) -> Iterator[Connection]:
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        yield connection


def value_of(kind: str, canary: str) -> Any:
    """A value of the type that holds the canary, if it can."""
    values: dict[str, Any] = {
        "text": canary,
        "text[]": [canary],
        "jsonb": Jsonb({canary: canary}),
        "bytea": canary.encode(),
        "halfvec": "[" + ",".join(["1"] * 64) + "]",
        "date": "2026-01-31",
        "integer": 1,
        "bigint": 1,
        "boolean": True,
        "timestamp with time zone": "2026-01-31T12:00:00Z",
        "xid8": "1",
    }
    return values[kind]  # a KeyError: say here what a column of the new type is to hold


def seed(connection: Connection, project_id: UUID, canary: str) -> list[str]:
    """One row in each table of the project; answers the tables. References hold, since all canaries are equal."""
    tables = [name for (name,) in connection.execute(TABLES)]
    store_id = uuid4()
    uuids = {"project_id": project_id, "store_id": store_id, "target_store_id": store_id}
    for table in tables:
        if table == "project":
            continue
        columns = connection.execute(COLUMNS, [f"ricordo.{table}"]).fetchall()
        values = {
            name: uuids.setdefault(name, uuid4())
            if kind == "uuid"
            else FIXED.get(name) or value_of(kind, canary)
            for name, kind, _ in columns
        }
        if table == "store":
            values["access"] = "RESTRICTED"
        if table == "store_grant":
            values["principal_id"] = f"user:{canary}"
        statement = sql.SQL("INSERT INTO ricordo.{} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(sql.Placeholder() * len(values)),
        )
        connection.execute(statement, list(values.values()))
    job = connection.execute(
        "INSERT INTO procrastinate.procrastinate_jobs (queue_name, task_name, lock, args)"
        " VALUES (%s, 'task', %s, %s) RETURNING id",
        [str(project_id), canary, Jsonb({"user_id": canary})],
    ).fetchone()
    failure = "INSERT INTO ricordo.job_failure (job_id, failure_class, error) VALUES (%s, 'CONTENT', %s)"
    connection.execute(failure, [job[0] if job else None, canary])
    return [*tables, "job"]


def find(connection: Connection, *texts: str) -> dict[str, int]:
    """In which tables, of all schemas, a row shows one of the texts, as it is or as bytes."""
    patterns = [f"%{form}%" for text in texts for form in (text, text.encode().hex())]
    found = {}
    for (table,) in connection.execute(EVERY_TABLE).fetchall():
        statement = f"SELECT count(*) FROM {table} AS t WHERE t::text LIKE ANY (%s)"
        row = connection.execute(statement, [patterns]).fetchone()
        if row and row[0]:
            found[table] = row[0]
    return found


def counts(receipt: erasure_pb2.ErasureReceipt) -> dict[str, int]:
    return {each.table_name: each.row_count for each in receipt.tables}


async def delete(admin: Admin, project_id: UUID, **fields: Any) -> erasure_pb2.ErasureReceipt:
    request = admin_service_pb2.DeleteProjectRequest(project_id=str(project_id), **fields)
    return (await admin.DeleteProject(request, metadata=OPERATOR)).receipt


async def purge(
    memories: Memories, project_id: UUID, user_id: str, **fields: Any
) -> erasure_pb2.ErasureReceipt:
    request = memory_service_pb2.PurgeMemoriesRequest(user_id=user_id, **fields)
    return (await memories.PurgeMemories(request, metadata=as_service(project_id))).receipt


async def test_of_a_deleted_project_nothing_is_left(
    admin: Admin, database: TestDatabase, superuser: Connection
) -> None:
    project_id, canary = make_project(database), f"canary{uuid4().hex}"
    tables = seed(superuser, project_id, canary)
    assert find(superuser, canary)

    receipt = await delete(admin, project_id, force=True)

    assert find(superuser, canary) == {}
    # That it was deleted is the operator's own record.
    assert find(superuser, str(project_id)) == {"ricordo.audit": 1, "ricordo.organization": 1}
    assert set(counts(receipt)) == set(tables)
    assert counts(receipt)["store"] == 2
    assert min(counts(receipt).values()) == 1
    assert receipt.done


async def test_without_force_a_project_stays_and_is_counted(
    admin: Admin, database: TestDatabase, superuser: Connection
) -> None:
    project_id, canary = make_project(database), f"canary{uuid4().hex}"
    seed(superuser, project_id, canary)
    before = find(superuser, canary, str(project_id))
    counted = await delete(admin, project_id)
    assert not counted.done
    assert find(superuser, canary, str(project_id)) == before
    assert counts(await delete(admin, project_id, force=True)) == counts(counted)


async def test_another_project_keeps_every_row(
    admin: Admin, database: TestDatabase, superuser: Connection
) -> None:
    project_id, kept, canary = make_project(database), make_project(database), f"canary{uuid4().hex}"
    seed(superuser, kept, canary)
    before = find(superuser, canary, str(kept))
    await delete(admin, project_id, force=True)
    assert find(superuser, canary, str(kept)) == before


async def test_of_a_purged_user_nothing_is_left(
    memories: Memories, database: TestDatabase, superuser: Connection
) -> None:
    project_id, user_id = make_project(database), f"user{uuid4().hex}"
    tables = seed(superuser, project_id, user_id)
    answer = b"\x0a\x08\x0a" + bytes([len(user_id)]) + user_id.encode()
    superuser.execute(
        "INSERT INTO ricordo.idempotency VALUES (%s, 'service', '', 'm', 'r', 'd', %s)", [project_id, answer]
    )
    superuser.execute(
        "INSERT INTO ricordo.audit VALUES (%s, %s, 'GrantAccess', 'DONE', 'p', '', %s, 1)",
        [project_id, uuid4(), f"notes: user:{user_id} READ"],
    )

    receipt = await purge(memories, project_id, user_id, force=True)

    left = find(superuser, user_id)
    assert set(left) <= {f"ricordo.{table}" for table in OF_PROJECT}, left
    assert set(counts(receipt)) <= set(tables)
    assert counts(receipt)["memory"] == counts(receipt)["turn"] == counts(receipt)["store_grant"] == 1
    records = superuser.execute(
        "SELECT action, user_id, subject FROM ricordo.audit WHERE project_id = %s ORDER BY create_time",
        [project_id],
    ).fetchall()
    assert ("GrantAccess", "", "erased") in records
    assert ("PurgeMemories", "", "") in records


async def test_without_force_a_user_stays_and_is_counted(
    memories: Memories, database: TestDatabase, superuser: Connection
) -> None:
    project_id, user_id = make_project(database), f"user{uuid4().hex}"
    seed(superuser, project_id, user_id)
    before = find(superuser, user_id)
    counted = await purge(memories, project_id, user_id)
    assert not counted.done
    assert find(superuser, user_id) == before
    assert counts(await purge(memories, project_id, user_id, force=True)) == counts(counted)


async def test_other_users_and_projects_keep_every_row(
    memories: Memories, database: TestDatabase, superuser: Connection
) -> None:
    project_id, other = make_project(database), make_project(database)
    user_id, beside = f"user{uuid4().hex}", f"user{uuid4().hex}"
    seed(superuser, project_id, beside)
    seed(superuser, other, user_id)
    before = find(superuser, user_id, beside)
    await purge(memories, project_id, user_id, force=True)
    assert find(superuser, user_id, beside) == before


async def test_a_repeat_gets_the_first_receipt(admin: Admin, database: TestDatabase) -> None:
    project_id = make_project(database)
    first = await delete(admin, project_id, force=True, request_id=f"r{project_id}")
    assert await delete(admin, project_id, force=True, request_id=f"r{project_id}") == first


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call removes a few rows, and then its time is up."""
    monkeypatch.setattr(erasure, "BATCH_ROWS", 3)
    monkeypatch.setattr(erasure, "SHARE_OF_DEADLINE", 0.0)


@pytest.mark.usefixtures("small_steps")
async def test_a_large_project_takes_several_calls_and_the_last_answers_for_all(
    admin: Admin, database: TestDatabase, superuser: Connection
) -> None:
    project_id, canary = make_project(database), f"canary{uuid4().hex}"
    seed(superuser, project_id, canary)
    expected = counts(await delete(admin, project_id))
    rows_beside_the_project = sum(expected.values()) - 1
    for _ in range(rows_beside_the_project // 3):
        assert (await refusal(delete(admin, project_id, force=True)))[1] == "DEADLINE_EXCEEDED"
        assert counts(await delete(admin, project_id)) == expected  # what is gone counts too
    assert counts(await delete(admin, project_id, force=True)) == expected
    assert find(superuser, str(project_id)) == {"ricordo.audit": 1, "ricordo.organization": 1}


@pytest.mark.usefixtures("small_steps")
async def test_a_project_is_closed_before_it_is_emptied(
    admin: Admin, memories: Memories, channel: grpc.aio.Channel, database: TestDatabase, superuser: Connection
) -> None:
    project_id = make_project(database)
    seed(superuser, project_id, f"canary{uuid4().hex}")
    assert (await refusal(delete(admin, project_id, force=True)))[1] == "DEADLINE_EXCEEDED"
    credential = as_service(project_id)
    projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    read = projects.GetProject(project_service_pb2.GetProjectRequest(), metadata=credential)
    assert (await refusal(read))[1] == "PROJECT_NOT_FOUND"
    listed = memories.ListMemories(memory_service_pb2.ListMemoriesRequest(), metadata=credential)
    assert (await refusal(listed))[1] == "STORE_NOT_FOUND"


async def test_a_request_id_of_another_deletion_closes_nothing(
    admin: Admin, channel: grpc.aio.Channel, database: TestDatabase
) -> None:
    gone, project_id = make_project(database), make_project(database)
    await delete(admin, gone, force=True, request_id=f"r{gone}")
    repeat = delete(admin, project_id, force=True, request_id=f"r{gone}")
    assert (await refusal(repeat))[1] == "REQUEST_ID_REUSED"
    projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    await projects.GetProject(project_service_pb2.GetProjectRequest(), metadata=as_service(project_id))


async def test_only_an_operator_deletes_a_project(admin: Admin, project_id: UUID) -> None:
    request = admin_service_pb2.DeleteProjectRequest(project_id=str(project_id), force=True)
    for metadata in (as_service(project_id), as_user(project_id, "ann")):
        code, reason, _ = await refusal(admin.DeleteProject(request, metadata=metadata))
        assert reason == "PERMISSION_DENIED", code


async def test_a_project_that_is_not_there_is_not_found(admin: Admin) -> None:
    request = admin_service_pb2.DeleteProjectRequest(project_id=str(uuid4()), force=True)
    assert (await refusal(admin.DeleteProject(request, metadata=OPERATOR)))[1] == "PROJECT_NOT_FOUND"


async def test_a_user_purges_nobody_not_even_itself(memories: Memories, project_id: UUID) -> None:
    request = memory_service_pb2.PurgeMemoriesRequest(user_id="ann", force=True)
    call = memories.PurgeMemories(request, metadata=as_user(project_id, "ann"))
    assert (await refusal(call))[1] == "PERMISSION_DENIED"


async def test_the_deleted_project_s_credential_finds_nothing(
    admin: Admin, channel: grpc.aio.Channel, database: TestDatabase
) -> None:
    project_id = make_project(database)
    await delete(admin, project_id, force=True)
    projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    call = projects.GetProject(project_service_pb2.GetProjectRequest(), metadata=as_service(project_id))
    assert (await refusal(call))[1] == "PROJECT_NOT_FOUND"


def test_the_functions_are_for_whom_they_are_made(superuser: Connection) -> None:
    for role, function, expected in (
        ("ricordo_app", "erase_project(uuid, boolean)", False),
        ("ricordo_operator", "erase_project(uuid, boolean)", True),
        ("ricordo_app", "erase_project_rows(uuid, bigint)", False),
        ("ricordo_operator", "erase_project_rows(uuid, bigint)", True),
        ("ricordo_app", "erase_user(text, boolean)", True),
        ("ricordo_operator", "erase_user(text, boolean)", False),
        ("ricordo_app", "erase_from(text, text, anyelement, boolean)", False),
        ("ricordo_operator", "erase_from(text, text, anyelement, boolean)", False),
        ("ricordo_text", "erase_user(text, boolean)", False),
    ):
        statement = "SELECT has_function_privilege(%s, %s, 'EXECUTE')"
        assert superuser.execute(statement, [role, f"ricordo.{function}"]).fetchone() == (expected,), function


def test_every_project_table_is_seeded(superuser: Connection) -> None:
    assert set(PROJECT_TABLES) <= {name for (name,) in superuser.execute(TABLES)}
