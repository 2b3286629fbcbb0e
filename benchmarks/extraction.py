"""What background extraction costs the one who records: RecordTurn with it on and off, in one run.

Rounds of both take turns, each project its own; no worker runs, so that what is measured is the write alone.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.facts import commit, machine, today, write_result
from benchmarks.stack import Stack, running_stack
from benchmarks.timing import Operation, Round, compare, run_round, summarise
from benchmarks.workload import Texts
from ricordo import AsyncClient
from ricordo.models import ExtractionPolicy, NewTurn, ProjectChanges, Scope

DIMENSION = 384
ROUNDS = 6
CALLERS = {1: 50, 16: 160}
# A conversation is longer than the trigger, so that snapshots are cut and their jobs deferred on the way.
TURNS_A_SESSION = 50


async def open_project(stack: Stack, *, enabled: bool) -> AsyncClient:
    async with AsyncClient(stack.target, token="development:operator") as operator:
        organization = await operator.admin.create_organization("bench")
        made = await operator.admin.create_project("bench", organization_id=organization.organization_id)
    client = AsyncClient(stack.target, token=f"development:{made.project_id}")
    await client.project.update(ProjectChanges(extraction=ExtractionPolicy(enabled=enabled)))
    return client


def recorder(client: AsyncClient, texts: Texts) -> Operation:
    async def record(caller: int, number: int) -> object:
        scope = Scope(user_id=f"user-{caller}", session_id=f"{number // TURNS_A_SESSION}")
        return await client.sessions.record_turn(NewTurn(role="user", content=texts.sentence()), scope=scope)

    return record


async def measure(stack: Stack) -> list[dict[str, Any]]:
    texts = Texts()
    clients = {name: await open_project(stack, enabled=name == "on") for name in ("off", "on")}
    rows = []
    for callers, runs in CALLERS.items():
        rounds: dict[str, list[Round]] = {name: [] for name in clients}
        for number in range(ROUNDS):
            for name, client in clients.items():
                first = (callers * ROUNDS + number) * runs
                rounds[name].append(
                    await run_round(recorder(client, texts), callers=callers, runs=runs, first=first)
                )
        figures = {name: summarise(each) for name, each in rounds.items()}
        rows.append({"callers": callers, **figures, "ratio": compare(figures["on"], figures["off"])})
    for client in clients.values():
        await client.close()
    return rows


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder), provider="hashing", dimension=DIMENSION) as stack,
    ):
        rows = asyncio.run(measure(stack))
    for row in rows:
        print(row)
    write_result("extraction.json", {"date": today(), "commit": commit(), "machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
