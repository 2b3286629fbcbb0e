"""What an operator sees of the queue: numbers, never content."""

from datetime import UTC, datetime
from uuid import UUID

import grpc.aio
import psycopg
import pytest

from ricordo.v1 import admin_service_pb2 as pb
from ricordo.v1 import admin_service_pb2_grpc, failure_pb2
from ricordo_server.db.connection import Database, project_transaction
from ricordo_server.db.installation import find_queue_facts
from ricordo_server.db.jobs import defer_job
from tests.fixtures.database import TestDatabase, make_project, service_principal

OPERATOR = (("authorization", "Bearer development:operator"),)


@pytest.fixture
async def busy_project(app_database: Database, database: TestDatabase) -> UUID:
    """Three jobs wait, one is for later, one runs, one has failed."""
    project_id = make_project(database)
    async with project_transaction(
        app_database.pool, service_principal(project_id), timeout=30
    ) as connection:
        for _ in range(5):
            await defer_job(connection, "t", {})
        await defer_job(connection, "t", {}, start_time=datetime(2100, 1, 1, tzinfo=UTC))
    change = """
    WITH mine AS (SELECT id, row_number() OVER (ORDER BY id) AS place FROM procrastinate.procrastinate_jobs
      WHERE queue_name = %s)
    UPDATE procrastinate.procrastinate_jobs AS job SET status = %s::procrastinate.procrastinate_job_status
    FROM mine WHERE mine.id = job.id AND place = %s RETURNING job.id
    """
    with psycopg.connect(database.operator_url) as connection:
        connection.execute(change, [str(project_id), "doing", 1])
        [(failed,)] = connection.execute(change, [str(project_id), "failed", 2]).fetchall()
        connection.execute(
            "INSERT INTO ricordo.job_failure (job_id, failure_class, error) VALUES (%s, 'CREDENTIAL', 'x')",
            [failed],
        )
    return project_id


async def test_a_projects_jobs_are_counted(channel: grpc.aio.Channel, busy_project: UUID) -> None:
    admin = admin_service_pb2_grpc.AdminServiceStub(channel)
    request = pb.GetQueueStatusRequest(project_id=str(busy_project))
    status = await admin.GetQueueStatus(request, metadata=OPERATOR)
    counts = status.total
    assert (counts.waiting, counts.scheduled, counts.running, counts.failed) == (3, 1, 1, 1)
    assert counts.last_failure_class == failure_pb2.FAILURE_CLASS_CREDENTIAL
    assert counts.oldest_due_time.ToDatetime(UTC) <= datetime.now(UTC)
    assert [(each.project_id, each.counts) for each in status.projects] == [(str(busy_project), counts)]


async def test_a_project_without_jobs_has_none(channel: grpc.aio.Channel, project_id: UUID) -> None:
    admin = admin_service_pb2_grpc.AdminServiceStub(channel)
    request = pb.GetQueueStatusRequest(project_id=str(project_id))
    status = await admin.GetQueueStatus(request, metadata=OPERATOR)
    assert (status.total, list(status.projects)) == (pb.QueueCounts(), [])


async def test_all_projects_are_in_the_total(channel: grpc.aio.Channel, busy_project: UUID) -> None:
    admin = admin_service_pb2_grpc.AdminServiceStub(channel)
    status = await admin.GetQueueStatus(pb.GetQueueStatusRequest(), metadata=OPERATOR)
    assert status.total.waiting == sum(each.counts.waiting for each in status.projects)
    assert str(busy_project) in {each.project_id for each in status.projects}


def test_doctor_reads_the_same_numbers(database: TestDatabase, busy_project: UUID) -> None:
    facts = find_queue_facts(database.operator_url)
    assert facts is not None
    assert (facts.waiting >= 3, facts.failed >= 1) == (True, True)
