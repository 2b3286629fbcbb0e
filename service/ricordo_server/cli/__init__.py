"""The command line: `operate` runs an installation, `use` and `project` talk to a server as any client does."""

import typer

from ricordo_server.cli import operate, project, use

app = typer.Typer(
    name="ricordo",
    help="Memory for AI agents, on your own Postgres. Options fall back to the environment: RICORDO_<NAME>.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
operate.register(app)
use.register(app)
project.register(app)
