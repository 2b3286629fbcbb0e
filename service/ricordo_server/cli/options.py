"""Options that several commands share, and how they become settings."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

import ricordo
from ricordo.commands.connection import DEFAULT_TARGET as DEFAULT_TARGET
from ricordo.commands.connection import Target as Target
from ricordo.commands.connection import Token as Token
from ricordo.commands.connection import connection_options
from ricordo_server.cli.failures import MISUSE, Refusal
from ricordo_server.config import Settings

# Seconds for a change that reads and indexes what is stored.
LONG = 600.0

Host = Annotated[str | None, typer.Option(help="Address to serve on. [default: 127.0.0.1]")]
Port = Annotated[
    int | None, typer.Option(help="Port to serve on; 0 takes a free one. [default: 7483]", min=0, max=65535)
]
Processes = Annotated[
    int | None, typer.Option(help="Server processes on the one port. [default: 1]", min=1, max=64)
]
TlsCertificate = Annotated[
    Path | None,
    typer.Option(help="PEM file of the server's certificate, its issuers after it.", dir_okay=False),
]
TlsKey = Annotated[Path | None, typer.Option(help="PEM file of its private key.", dir_okay=False)]
TlsClientCa = Annotated[
    Path | None,
    typer.Option(
        help="PEM file of the authorities of client certificates, which are asked for then.", dir_okay=False
    ),
]
BehindProxy = Annotated[
    bool | None,
    typer.Option(
        "--insecure-behind-proxy", help="Serve plain text to other machines: a proxy in front speaks TLS."
    ),
]
DataFolder = Annotated[
    Path | None, typer.Option(help="Folder of the embedded Postgres. [default: .ricordo]", file_okay=False)
]
Store = Annotated[str | None, typer.Option(help="The store. [default: default]")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def load_settings(**options: object) -> Settings:
    """The environment's settings, with the options that were given over them."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    tls = {name.removeprefix("tls_"): given.pop(name) for name in list(given) if name.startswith("tls_")}
    if tls:
        given["tls"] = tls
    return Settings(**given)


def require(value: str, name: str) -> str:
    if not value:
        raise Refusal(
            f"no {name.replace('_', ' ')}: set RICORDO_{name.upper()}, or pass --{name.replace('_', '-')}",
            status=MISUSE,
        )
    return value


def connect(target: str, token: str | None, *, anonymous: bool = False) -> ricordo.Client:
    """A client with the connection options that stand before the command.

    Without a token it is the service account of the environment, if there is one and it is not to be `anonymous`.
    """
    names = {} if token or anonymous else {"client_id": "CLIENT_ID", "client_secret": "CLIENT_SECRET"}
    account: dict[str, Any] = {
        name: os.environ.get(f"RICORDO_{variable}") or None for name, variable in names.items()
    }
    return ricordo.Client(target, token=token, **account, **connection_options())


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))
