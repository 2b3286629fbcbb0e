"""Commands of the program that need no server on this machine; the server's own are `ricordo_server.cli`."""

import typer

from ricordo.commands import entries, operations, pipelines, sessions, stores
from ricordo.commands.connection import PLAIN_HELP, connection
from ricordo.commands.model_context import mcp


def main() -> None:
    """Runs the command line of an installation without the server; ends the program with its status."""
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, **PLAIN_HELP
    )
    app.callback(
        epilog="All other commands come with the server: pip install 'ricordo[server,embedded,local]'"
    )(connection)
    app.command()(mcp)
    stores.register(app)
    entries.register(app)
    pipelines.register(app)
    sessions.register(app)
    operations.register(app)
    app(prog_name="ricordo")
