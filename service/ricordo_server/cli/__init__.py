"""The command line: `operate` and `keys` run an installation; the others talk to a server, as clients do."""

import typer

from ricordo import commands
from ricordo.commands.connection import PROGRAM, connection
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

app = typer.Typer(**PROGRAM)
app.callback()(connection)
operate.register(app)
keys.register(app)
use.register(app)
commands.register(app)
project.register(app)
extraction_policy.register()
queue.register(app)
service_account.register(app)
limits.register(app)
apply.register(app)
embeddings.register(app)
