"""kill -9 of the server under a write load: with retries by `request_id`, each acknowledged write is there once."""

import asyncio
import socket
from collections import Counter
from pathlib import Path
from uuid import UUID, uuid4

from ricordo import AsyncClient
from ricordo.errors import MemoryAPIError
from ricordo.models import Matching, NewTurn, Scope
from tests.cli.programs import environment_of, started
from tests.fixtures.database import TestDatabase

WRITERS, TURNS_EACH, KILLS = 8, 40, 2


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def write(client: AsyncClient, writer: int, acknowledged: list[str]) -> None:
    """Each turn until it is acknowledged, always under the same request id."""
    scope = Scope(user_id=f"user-{writer}", session_id="s")
    for number in range(TURNS_EACH):
        content, request_id = f"turn {writer}-{number}", uuid4().hex
        while True:
            try:
                await client.sessions.record_turn(
                    NewTurn(role="user", content=content), scope=scope, request_id=request_id, timeout=5
                )
            except MemoryAPIError:
                await asyncio.sleep(0.05)
                continue
            acknowledged.append(content)
            break


async def reached(acknowledged: list[str], target: int) -> None:
    for _ in range(60_000):
        if len(acknowledged) >= target:
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"only {len(acknowledged)} of {target} writes")


async def test_no_acknowledged_write_is_lost_or_doubled(
    database: TestDatabase, project_id: UUID, tmp_path: Path
) -> None:
    port = free_port()
    arguments = ("serve", "--port", str(port))
    environment = environment_of({"database_url": database.app_url, "development_project": project_id})
    acknowledged: list[str] = []
    async with AsyncClient(f"127.0.0.1:{port}", token=f"development:{project_id}") as client:
        writers = [asyncio.create_task(write(client, writer, acknowledged)) for writer in range(WRITERS)]
        for kill in range(KILLS):
            with started(tmp_path / f"output-{kill}", *arguments, **environment) as program:
                await asyncio.to_thread(program.wait_for, "ready")
                target = len(acknowledged) + WRITERS * TURNS_EACH // (KILLS + 1)
                await reached(acknowledged, target)
                program.process.kill()
                program.process.wait()
        with started(tmp_path / "output-last", *arguments, **environment) as program:
            await asyncio.to_thread(program.wait_for, "ready")
            await asyncio.gather(*writers)
            stored = Counter([turn.content async for turn in client.sessions.list_turns(page_size=1000)])
            assert stored == Counter(acknowledged)
            assert len(stored) == WRITERS * TURNS_EACH
            for writer in range(WRITERS):
                scope = Matching(user_id=f"user-{writer}")
                numbers = [turn.turn_seq async for turn in client.sessions.list_turns(scope=scope)]
                assert numbers == list(range(1, TURNS_EACH + 1))
