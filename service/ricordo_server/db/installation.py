"""What an operator does and asks without a server: the first project, and the facts that `doctor` reports."""

from dataclasses import dataclass
from uuid import UUID

import psycopg
import psycopg_pool
from uuid_utils.compat import uuid7

from ricordo_server.db.audit import write_operator_record
from ricordo_server.db.connection import Pool
from ricordo_server.db.migrations import revisions_folder
from ricordo_server.db.sql import load_sql
from ricordo_server.domain.service_account import ClientId
from ricordo_server.domain.store import DEFAULT_LANGUAGE, DEFAULT_STORE

DATABASE_ERRORS: tuple[type[Exception], ...] = (psycopg.Error, psycopg_pool.PoolTimeout)
CONNECT_SECONDS = 5


def create_project(
    operator_url: str, project_id: UUID, name: str, *, language: str = DEFAULT_LANGUAGE
) -> None:
    """An organization of the same id and name, the project and its store `default`; harmless when repeated."""
    with psycopg.connect(operator_url) as connection:
        connection.execute(
            "INSERT INTO ricordo.organization (organization_id, display_name) VALUES (%s, %s)"
            " ON CONFLICT DO NOTHING",
            [project_id, name],
        )
        made = connection.execute(
            "INSERT INTO ricordo.project (project_id, organization_id, display_name, language)"
            " VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [project_id, project_id, name, language],
        )
        connection.execute(
            "INSERT INTO ricordo.store (project_id, store_id, name, languages_in_use, creator_id)"
            " VALUES (%s, %s, %s, %s, 'operator') ON CONFLICT DO NOTHING",
            [project_id, uuid7(), DEFAULT_STORE, [language]],
        )
        if made.rowcount:
            write_operator_record(connection, "CreateProject", str(project_id))


def create_service_account(
    operator_url: str, project_id: UUID, name: str, role: str, secret_id: str, secret_hash: str
) -> ClientId:
    """A project's account, before anybody of it can make one.

    Raises:
        ValueError: there is no such project, or it has an account of the name.
    """
    client_id = ClientId(project_id, uuid7())
    try:
        with psycopg.connect(operator_url) as connection:
            connection.execute(
                "INSERT INTO ricordo.service_account (project_id, account_id, name, role, creator_id)"
                " VALUES (%s, %s, %s, %s, 'operator')",
                [project_id, client_id.account_id, name, role],
            )
            connection.execute(
                "INSERT INTO ricordo.service_account_secret (project_id, account_id, secret_id, secret_hash)"
                " VALUES (%s, %s, %s, %s)",
                [project_id, client_id.account_id, secret_id, secret_hash],
            )
            write_operator_record(connection, "CreateServiceAccount", str(client_id))
    except psycopg.errors.ForeignKeyViolation as error:
        raise ValueError(f"there is no project {project_id}") from error
    except psycopg.errors.UniqueViolation as error:
        raise ValueError(f"the project has a service account {name!r}: choose another name") from error
    return client_id


def find_connection_fault(url: str, role: str) -> str:
    """Why one cannot connect as this role, in libpq's words; empty when one can."""
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
            row = connection.execute("SELECT current_user::text").fetchone()
    except psycopg.Error as error:
        return describe(error)
    user = row[0] if row else ""
    return "" if user == role else f"the URL is that of {user}: give the one of {role}"


@dataclass(frozen=True)
class QueueFacts:
    """Jobs that are due, for how long the oldest is, jobs given up, and workers that sent a heartbeat lately."""

    waiting: int
    oldest_seconds: float
    failed: int
    workers: int


def find_queue_facts(operator_url: str) -> QueueFacts | None:
    """None before the queue is made."""
    with psycopg.connect(operator_url, connect_timeout=CONNECT_SECONDS) as connection:
        made = connection.execute("SELECT to_regclass('ricordo.job_failure') IS NOT NULL").fetchone()
        if made != (True,):
            return None
        row = connection.execute(load_sql("queue_facts")).fetchone()
    assert row is not None  # noqa: S101 - an aggregate is one row
    return QueueFacts(*row)


def describe(error: Exception) -> str:
    """The first line of what the database or its driver says, which for a connection names host and role."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


async def find_revision(pool: Pool) -> str:
    """The revision that the database is at; empty before the first."""
    async with pool.connection() as connection:
        row = await (await connection.execute("SELECT version_num FROM ricordo.revision")).fetchone()
    return str(row["version_num"]) if row else ""


def newest_revision() -> str:
    """The revision that this release brings."""
    from alembic.config import Config  # see `migrate` for why here
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(revisions_folder()))
    return ScriptDirectory.from_config(config).get_current_head() or ""
