"""The command line: `operate` runs an installation; `use`, `project` and `queue` talk to a server, as clients do."""

import typer

from ricordo_server.cli import operate, options, project, queue, use

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
queue.register(app)
