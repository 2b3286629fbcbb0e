"""The command line: `operate` and `keys` run an installation; the others talk to a server, as clients do."""

import typer

from ricordo.commands import entries, operations, pipelines, sessions, stores
from ricordo.commands.connection import PLAIN_HELP, connection
from ricordo.commands.model_context import mcp
from ricordo_server.cli import (
    apply,
    embeddings,
    extraction_policy,
    keys,
    limits,
    operate,
    project,
    queue,
    service_account,
    use,
)

app = typer.Typer(
    name="ricordo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    **PLAIN_HELP,
)
app.callback()(connection)
operate.register(app)
keys.register(app)
use.register(app)
app.command()(mcp)
stores.register(app)
entries.register(app)
pipelines.register(app)
sessions.register(app)
operations.register(app)
project.register(app)
extraction_policy.register()
queue.register(app)
service_account.register(app)
limits.register(app)
apply.register(app)
embeddings.register(app)
