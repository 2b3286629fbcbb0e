"""`make run`: the whole road on real data, in one minute's reading.

It starts the stack of `ricordo up` on the folder `.ricordo`, records a conversation of several sessions, learns
memories from it, saves others, searches in three modes, builds a context, and reads the store as a memory bank and as
a memory store do. With a terminal it then stays up until Ctrl-C.
"""

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path

import typer

from examples import steps
from examples.calls import ways_to_call
from examples.printing import console, tell
from ricordo import AsyncClient
from ricordo_server.cli.failures import failures_told
from ricordo_server.cli.serving import serving_held_port, stop_on_sigterm
from ricordo_server.cli.stack import LOG_NAME, prepared_stack
from ricordo_server.config import DEFAULT_PORT, Settings
from ricordo_server.logs import log_to, move_large_log, open_log
from ricordo_server.processes import PortTakenError, held_port
from ricordo_server.server import stop_signals

IS_TERMINAL = sys.stdin.isatty() and sys.stdout.isatty()


def tour(data_folder: Path | None = None) -> None:
    """Show the main road on a real conversation."""
    with failures_told(), ExitStack() as stack:
        stop_on_sigterm()
        settings = Settings(**({"data_folder": data_folder} if data_folder else {}))
        port = hold_port(stack, settings.host)
        settings = settings.model_copy(update={"port": port, "with_worker": True})
        console.print("[bold]Ricordo[/bold]: starting Postgres and the server ...")
        stack.callback(console.print, "Everything is stopped; the data stays for the next run.")
        prepared = stack.enter_context(prepared_stack(settings))
        log_file = prepared.data_folder / LOG_NAME
        move_large_log(log_file)
        log_to(stack.enter_context(open_log(log_file)))
        asyncio.run(show(prepared))


def hold_port(stack: ExitStack, host: str) -> int:
    """The usual one, or a free one where that is taken."""
    try:
        return stack.enter_context(held_port(host, DEFAULT_PORT))
    except PortTakenError:
        return stack.enter_context(held_port(host, 0))


async def show(settings: Settings) -> None:
    stopped = stop_signals()
    async with serving_held_port(settings) as server:
        target = f"{settings.host}:{server.port}"
        tell(1, "The stack", f"serves on {target}; its data is in {settings.data_folder.resolve()}")
        async with AsyncClient(target) as client:
            sessions = await steps.record_conversation(client)
            await steps.learn_from_turns(client, sessions)
            await steps.save_memories(client)
            await steps.search_in_three_modes(client)
            await steps.build_context(client)
            await steps.read_by_three_surfaces(client)
        if IS_TERMINAL:
            tell(8, "Your turn", "The server stays up until Ctrl-C. In another terminal, in this folder:")
            for title, command in ways_to_call(target):
                console.print(f"\n[dim]# {title}[/dim]")
                console.print(command, markup=False, soft_wrap=True)
            await stopped.wait()
            console.print("\nStopping ...")


if __name__ == "__main__":
    typer.run(tour)
