"""How a command reaches its server: the options before every command, and those that each one has."""

from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from ricordo import Client
from ricordo._settings import find_credential

DEFAULT_TARGET = "127.0.0.1:7483"
# With the server and without: help is plain text, in which a bracket is a bracket, and fills the terminal.
PROGRAM: dict[str, Any] = {
    "name": "ricordo",
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"max_content_width": 120},
}

Target = Annotated[str, typer.Option(envvar="RICORDO_TARGET", help="The server, as host:port.")]
Token = Annotated[str | None, typer.Option(envvar="RICORDO_TOKEN", help="The credential.")]


def _pem_file(variable: str, description: str) -> Any:
    return typer.Option(envvar=variable, help=description, exists=True, dir_okay=False, readable=True)


_connection: ContextVar[Mapping[str, Any]] = ContextVar("connection", default=MappingProxyType({}))


def connection_options() -> Mapping[str, Any]:
    """What stands before the command, as arguments of a client."""
    return _connection.get()


def connection(
    tls: Annotated[
        bool | None,
        typer.Option(
            envvar="RICORDO_CLIENT_TLS", help="Whether to encrypt. [default: to other machines only]"
        ),
    ] = None,
    ca: Annotated[
        Path | None,
        _pem_file("RICORDO_CLIENT_CA", "PEM file of the authorities to trust instead of the system's."),
    ] = None,
    client_certificate: Annotated[
        Path | None, _pem_file("RICORDO_CLIENT_CERTIFICATE", "PEM file of this client's certificate.")
    ] = None,
    client_key: Annotated[
        Path | None, _pem_file("RICORDO_CLIENT_KEY", "PEM file of its private key.")
    ] = None,
) -> None:
    """Memory for AI agents, on your own Postgres. Options fall back to the environment: RICORDO_<NAME>."""
    files = {"root_certificates": ca, "certificate_chain": client_certificate, "private_key": client_key}
    pem = {name: path.read_bytes() for name, path in files.items() if path}
    _connection.set({"tls": tls, **pem})


def connect(target: str, token: str | None) -> Client:
    """A client as the options and the environment say: a token, or the service account of the environment."""
    return Client(target, **find_credential(token, None, None, None, None), **connection_options())
