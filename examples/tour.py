"""`make run`: the whole road on real data, in one minute's reading.

It starts the stack of `ricordo up` on the folder `.ricordo`, records a conversation of several sessions, saves typed
memories, searches in three modes and builds a context. With a terminal it then stays up until Ctrl-C.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from examples.calls import ways_to_call
from ricordo import AsyncClient, SourceSpec
from ricordo.errors import AlreadyExistsError
from ricordo.models import (
    EpisodicDetails,
    MemoryKind,
    NewMemory,
    NewTurn,
    ProceduralDetails,
    ReadableBy,
    Scope,
    SearchMode,
    TaxonomicDetails,
)
from ricordo_server.cli.failures import failures_told
from ricordo_server.cli.serving import stop_on_sigterm
from ricordo_server.cli.stack import LOG_NAME, prepared_stack
from ricordo_server.config import DEFAULT_PORT, Settings
from ricordo_server.logs import log_to, move_large_log, open_log
from ricordo_server.processes import PortTakenError, find_port
from ricordo_server.server import running_server, stop_signals

FOLDER = Path(__file__).parent
MODES = {SearchMode.TEXT: "words", SearchMode.SEMANTIC: "meaning", SearchMode.HYBRID: "both"}
# One that only words find, one that only meaning finds, one in Portuguese.
QUESTIONS = ("s5-07", "s3-03", "s3-07")
TASK = "Book a quiet dinner in Faenza: where does she sleep, and what must she not eat?"
CONTEXT_LINES = 32

IS_TERMINAL = sys.stdin.isatty() and sys.stdout.isatty()
console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)


def tour(data_folder: Path | None = None) -> None:
    """Show the main road on a real conversation."""
    with failures_told():
        stop_on_sigterm()
        settings = Settings(**({"data_folder": data_folder} if data_folder else {}))
        settings = settings.model_copy(update={"port": choose_port(settings.host)})
        console.print("[bold]Ricordo[/bold]: starting Postgres and the server ...")
        with prepared_stack(settings) as prepared:
            log_file = prepared.data_folder / LOG_NAME
            move_large_log(log_file)
            with open_log(log_file) as log:
                log_to(log)
                asyncio.run(show(prepared))
        console.print("Everything is stopped; the data stays for the next run.")


def choose_port(host: str) -> int:
    try:
        return find_port(host, DEFAULT_PORT)
    except PortTakenError:
        return 0


async def show(settings: Settings) -> None:
    stopped = stop_signals()
    async with running_server(settings) as running:
        target = f"{settings.host}:{running.port}"
        tell(1, "The stack", f"serves on {target}; its data is in {settings.data_folder.resolve()}")
        async with AsyncClient(target) as client:
            await record_conversation(client)
            await save_memories(client)
            await search_in_three_modes(client)
            await build_context(client)
        if IS_TERMINAL:
            tell(6, "Your turn", "The server stays up until Ctrl-C. In another terminal, in this folder:")
            for title, command in ways_to_call(target):
                console.print(f"\n[dim]# {title}[/dim]")
                console.print(command, markup=False, soft_wrap=True)
            await stopped.wait()
            console.print("\nStopping ...")


async def record_conversation(client: AsyncClient) -> None:
    """Each session in one call. The keys of the turns make a second run harmless."""
    lines = list(read_lines("conversation.jsonl"))
    recorded = []
    for (session, user), rows in groupby(lines, key=lambda row: (row["session_id"], row["user_id"])):
        turns = [NewTurn(**without(row, "session_id", "user_id")) for row in rows]
        scope = Scope(user_id=user, session_id=session)
        recorded += await client.sessions.batch_record_turns(turns, scope=scope)
    new = sum(turn.created for turn in recorded)
    sessions = dict.fromkeys(row["session_id"] for row in lines)
    users = dict.fromkeys(row["user_id"] for row in lines)
    tell(
        2,
        "Recorded",
        f"{len(recorded)} turns of {len(sessions)} sessions with {' and '.join(users)}, in English, Portuguese and "
        f"Italian ({new} new, {len(recorded) - new} known from an earlier run)",
    )
    for turn in (recorded[0].turn, recorded[1].turn):
        show_quote(f"{turn.role}: {turn.content}")


async def save_memories(client: AsyncClient) -> None:
    """By key where the kind has one: written again, a memory is updated. Episodes have an id of ours instead."""
    kinds: Counter[str] = Counter()
    for row in read_lines("memories.jsonl"):
        memory = make_memory(row)
        kinds[memory.kind.value] += 1
        if memory.kind is not MemoryKind.EPISODIC:
            await client.memories.put(memory)
            continue
        with suppress(AlreadyExistsError):  # it does in a second run
            await client.memories.create(memory)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    tell(3, "Saved", f"{kinds.total()} typed memories: {listed}")


def make_memory(row: dict[str, Any]) -> NewMemory:
    """The flat line of the file as the client's model."""
    kind = MemoryKind(row["kind"])
    details = {
        MemoryKind.EPISODIC: EpisodicDetails,
        MemoryKind.PROCEDURAL: ProceduralDetails,
        MemoryKind.TAXONOMIC: TaxonomicDetails,
    }.get(kind)
    own = {name: row[name] for name in (details.model_fields if details else ()) if name in row}
    return NewMemory(
        **without(row, "user_id", *own),
        memory_id=row["title"].lower().replace(" ", "-") if kind is MemoryKind.EPISODIC else "",
        scope=Scope(user_id=row["user_id"]),
        details=details(**own) if details else None,
    )


async def search_in_three_modes(client: AsyncClient) -> None:
    tell(
        4,
        "Searched",
        "Each question by words, by meaning and by both; [green]✓[/green] is the turn that answers it",
    )
    for question in json.loads((FOLDER / "questions.json").read_text()):
        if question["idempotency_key"] not in QUESTIONS:
            continue
        table = Table(box=None, show_header=False, padding=(0, 1), title_justify="left")
        table.title = Text(f"   {question['question']}", style="bold")
        for mode, name in MODES.items():
            found = await client.sessions.search_turns(
                question["question"], mode=mode, top_k=1, scope=ReadableBy(user_id=question["user_id"])
            )
            table.add_row(f"   {name}", *describe_best(found.hits, question["idempotency_key"]))
        console.print(table)


def describe_best(hits: Iterable[Any], answer: str) -> tuple[Text, Text, Text]:
    for hit in hits:
        mark = Text("✓", "green") if hit.turn.idempotency_key == answer else Text("·", "dim")
        return mark, Text(f"{hit.score:.3f}"), one_line(hit.turn.content)
    return Text("·", "dim"), Text("-"), Text("nothing found", "dim")


async def build_context(client: AsyncClient) -> None:
    sources = [
        SourceSpec(source="semantic", top_k=3),
        SourceSpec(source="episodic", top_k=1),
        SourceSpec(source="stm", mode=SearchMode.HYBRID, top_k=4),
    ]
    built = await client.context.build(
        TASK, sources=sources, scope=ReadableBy(user_id="marta"), max_tokens=1_000
    )
    counts = ", ".join(f"{count} {source.value}" for source, count in built.source_counts.items())
    milliseconds = sum(built.timings.values()) * 1_000
    tell(
        5, "Built", f"a context of {built.token_count} tokens ({counts}) in {milliseconds:.0f} ms for: {TASK}"
    )
    text = Text("\n".join(line for line in built.text.splitlines() if line.strip()), style="dim")
    lines = text.wrap(console, console.width - 4)
    for line in lines[:CONTEXT_LINES]:
        console.print(Text("   ") + line)
    if len(lines) > CONTEXT_LINES:
        console.print(f"   [dim]... and {len(lines) - CONTEXT_LINES} lines more[/dim]")


def tell(number: int, title: str, text: str) -> None:
    console.print(f"\n[bold cyan]{number}. {title}[/bold cyan]  {text}")


def show_quote(text: str) -> None:
    console.print(Padding(one_line(text, style="dim"), (0, 0, 0, 3)))


def one_line(text: str, style: str = "") -> Text:
    """The text on one line, cut where the line ends."""
    return Text(" ".join(text.split()), style=style, no_wrap=True, overflow="ellipsis")


def read_lines(name: str) -> Iterable[dict[str, Any]]:
    for line in (FOLDER / name).read_text().splitlines():
        yield json.loads(line)


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


if __name__ == "__main__":
    typer.run(tour)
