"""Options that several commands share, and how they become settings."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ricordo_server.config import Settings

DEFAULT_TARGET = "127.0.0.1:7483"
# Seconds for a change that reads and indexes what is stored.
LONG = 600.0

Host = Annotated[str | None, typer.Option(help="Address to serve on. [default: 127.0.0.1]")]
Port = Annotated[
    int | None, typer.Option(help="Port to serve on; 0 takes a free one. [default: 7483]", min=0, max=65535)
]
Processes = Annotated[
    int | None, typer.Option(help="Server processes on the one port. [default: 1]", min=1, max=64)
]
DataFolder = Annotated[
    Path | None, typer.Option(help="Folder of the embedded Postgres. [default: .ricordo]", file_okay=False)
]
Target = Annotated[str, typer.Option(envvar="RICORDO_TARGET", help="The server, as host:port.")]
Token = Annotated[str | None, typer.Option(envvar="RICORDO_TOKEN", help="The credential.")]
Store = Annotated[str | None, typer.Option(help="The store. [default: default]")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def load_settings(**options: object) -> Settings:
    """The environment's settings, with the options that were given over them."""
    given = {name: value for name, value in options.items() if value is not None}
    return Settings(**given)  # type: ignore[arg-type]


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))
