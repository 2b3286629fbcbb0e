import psycopg
import pytest

from tests.fixtures.database import TestDatabase


@pytest.fixture(autouse=True)
def empty_queue(database: TestDatabase) -> None:
    """A worker takes the jobs of every project: those that earlier tests left would meet this test's model."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("DELETE FROM procrastinate.procrastinate_jobs")
