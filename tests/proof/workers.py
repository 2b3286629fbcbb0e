"""Workers that a proof kills and stops as it likes."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from tests.cli.programs import ENVIRONMENT, environment_of
from tests.fixtures.database import TestDatabase
from tests.jobs.queue import PATIENCE_SECONDS, read_jobs

LEASE_SECONDS = 1.5
PROGRAM = ("-m", "tests.proof.worker_program")


@dataclass(frozen=True)
class Workers:
    """`start` answers the process id of a worker that works."""

    process: asyncio.subprocess.Process
    log: Path

    async def start(self) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(b"\n")
        await self.process.stdin.drain()
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE_SECONDS)
        assert line, self.log.read_text()[-5_000:]
        return int(line)


@asynccontextmanager
async def worker_programs(database: TestDatabase, folder: Path, **environment: str) -> AsyncIterator[Workers]:
    """They are gone when the block is left."""
    urls = {"database_url": database.app_url, "operator_url": database.operator_url}
    given = environment_of({**urls, "worker_lease": LEASE_SECONDS, "shutdown_grace": 30})
    with (folder / "workers").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *PROGRAM,
            env={**ENVIRONMENT, **given, **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
        try:
            yield Workers(process, folder / "workers")
        finally:
            process.kill()
            await process.wait()


async def until_slowly(condition: Callable[[], bool]) -> None:
    """As `until`, for what takes a real model's time."""
    for _ in range(1_200):
        if await asyncio.to_thread(condition):
            return
        await asyncio.sleep(1)
    raise AssertionError("it never came true")


def open_extractions(database: TestDatabase, project_id: UUID) -> list[Mapping[str, object]]:
    """The jobs of extraction that wait or run."""
    jobs = read_jobs(database, project_id)
    return [job for job in jobs if job["task_name"] == "extract" and job["status"] in ("todo", "doing")]


def is_alive(pid: int) -> bool:
    """Of a worker: those that ended are waited for by nobody."""
    return Path(f"/proc/{pid}").exists()
