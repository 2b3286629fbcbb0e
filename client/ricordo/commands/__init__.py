"""Commands of the program that need no server on this machine; the server's own are `ricordo_server.cli`."""

import typer

from ricordo.commands import entries, operations, pipelines, sessions, stores
from ricordo.commands.connection import PROGRAM, connection
from ricordo.commands.model_context import mcp


def main() -> None:
    """Runs the command line of an installation without the server; ends the program with its status."""
    app = typer.Typer(**PROGRAM)
    app.callback(
        epilog="All other commands come with the server: pip install 'ricordo[server,embedded,local]'"
    )(connection)
    register(app)
    app(prog_name="ricordo")


def register(app: typer.Typer) -> None:
    """Adds the commands of a client to a program."""
    app.command()(mcp)
    for each in (stores, entries, pipelines, sessions, operations):
        each.register(app)
