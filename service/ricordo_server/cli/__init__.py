"""The command line: `operate` runs an installation, `use` and `project` talk to a server as any client does."""

import typer

from ricordo_server.cli import operate, options, project, use

app = typer.Typer(
    name="ricordo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.callback()(options.connection)
operate.register(app)
use.register(app)
project.register(app)
