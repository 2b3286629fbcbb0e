"""Behind a transaction pooler with four connections, amid aborts and cancels, nobody meets another's row."""

import asyncio
import getpass
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from ricordo_server.db.connection import Database, TenantConnection, open_pool, tenant_transaction
from ricordo_server.domain.errors import DomainError
from tests.fixtures.database import APP_PASSWORD, TestDatabase, make_project, service_principal
from tests.proof.conftest import Tally
from tests.proof.scale import scaled

pytestmark = pytest.mark.xdist_group("pgbouncer")

TENANTS, THREADS, TRANSACTIONS = 200, 50, scaled(10_000)
CONFIGURATION = """
[databases]
tenants = host=127.0.0.1 port={server_port} dbname={database} user=ricordo_app password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
unix_socket_dir =
logfile = {folder}/pgbouncer.log
"""


@pytest.fixture
def pooled_url(database: TestDatabase, tmp_path: Path) -> Iterator[str]:
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if not program and not (os.geteuid() == 0 and shutil.which("apt-get")):
        pytest.skip("NOT PROVED: no pgbouncer here, and nobody who could install it")
    assert program, "pgbouncer is not installed: `make pgbouncer` does it"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = CONFIGURATION.format(
        server_port=database.server.port,
        database=database.name,
        password=APP_PASSWORD,
        port=port,
        folder=tmp_path,
    )
    (tmp_path / "pgbouncer.ini").write_text(configuration)
    as_user = ["-u", "nobody"] if getpass.getuser() == "root" else []
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if folder.stat().st_uid == os.getuid() and as_user:
            folder.chmod(folder.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    with subprocess.Popen(
        [program, *as_user, str(tmp_path / "pgbouncer.ini")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            url = f"postgresql://ricordo_app@127.0.0.1:{port}/tenants"
            wait_for(url, process)
            yield url
        finally:
            process.terminate()


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(200):
        assert process.poll() is None, "pgbouncer ended"
        with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=2):
            return
        time.sleep(0.05)
    raise AssertionError("pgbouncer does not answer")


@pytest.fixture
def projects(database: TestDatabase) -> list[UUID]:
    """Each with one memory."""
    made = [make_project(database) for _ in range(TENANTS)]
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "INSERT INTO ricordo.memory"
            " (project_id, store_id, memory_id, kind, content, scope_key, visibility, language)"
            " SELECT project_id, store_id, project_id::text, 'SEMANTIC', project_id::text, '', 'PROJECT', 'english'"
            " FROM ricordo.store WHERE project_id = ANY (%s)",
            [made],
        )
    return made


async def test_no_foreign_row_through_the_pooler(pooled_url: str, projects: list[UUID], tally: Tally) -> None:
    pool = await open_pool(pooled_url, size=THREADS, prepare=False)
    database = Database(pool)
    left = iter(range(TRANSACTIONS))
    read = 0

    async def thread(number: int) -> None:
        nonlocal read
        chance = random.Random(number)
        for _ in left:
            project_id = chance.choice(projects)
            try:
                async with asyncio.timeout(chance.choice([None, None, None, 0.002, 0.01])):
                    async with tenant_transaction(
                        database, service_principal(project_id), "", timeout=60
                    ) as tenant:
                        rows = await trouble(tenant, chance)
                tally.count(rows == [project_id], (project_id, rows))
                read += 1
            except (TimeoutError, DomainError, psycopg.Error, ZeroDivisionError):
                tally.cases += 1  # cut short: it has seen nothing

    await asyncio.gather(*map(thread, range(THREADS)))
    await pool.close()
    await read_without_a_tenant(pooled_url, tally)
    assert not tally.failures
    assert read > TRANSACTIONS / 3  # the others were cut short


async def trouble(tenant: TenantConnection, chance: random.Random) -> list[UUID]:
    """Reads past every predicate, so that the policy is the only wall; some transactions end badly after it."""
    rows = await tenant.fetch_all("SELECT project_id FROM ricordo.memory")
    match chance.randrange(10):
        case 0:
            raise ZeroDivisionError  # an abort
        case 1:
            await tenant.raw.cancel_safe()
        case 2:
            await tenant.raw.close()  # the client is gone in the middle
    return [row["project_id"] for row in rows]


async def read_without_a_tenant(url: str, tally: Tally) -> None:
    for _ in range(THREADS):
        async with await psycopg.AsyncConnection.connect(url, prepare_threshold=None) as connection:
            try:
                await connection.execute("SELECT project_id FROM ricordo.memory")
                tally.count(False, "an untenanted read was answered")
            except psycopg.Error as error:
                tally.count(error.sqlstate in ("42704", "22P02"), error)
