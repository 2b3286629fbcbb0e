"""The command `ricordo mcp`."""

import asyncio
import os
import signal
from importlib.util import find_spec
from socket import create_server, socket
from typing import Annotated
from uuid import uuid4

import typer

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext
from ricordo._settings import find_credential
from ricordo.commands.connection import DEFAULT_TARGET, Target, Token, connection_options
from ricordo.commands.output import FAULT, INTERRUPTED, MISUSE
from ricordo.errors import MemoryClientError
from ricordo.identity import first_given

HOST = "127.0.0.1"


def mcp(
    user_id: Annotated[str, typer.Option(envvar="RICORDO_USER_ID", help="Whose memory it is.")],
    session_id: Annotated[
        str | None,
        typer.Option(
            envvar="RICORDO_SESSION_ID",
            help="The one session. [default: a new one, and the model may name others of the user]",
        ),
    ] = None,
    agent_id: Annotated[
        str | None, typer.Option(envvar="RICORDO_AGENT_ID", help="Who records, kept with each turn.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(envvar="RICORDO_STORE", help="The store. [default: default]")
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            help="Serve streamable HTTP on this port of 127.0.0.1, not stdio; 0 takes a free one.",
            min=0,
            max=65535,
        ),
    ] = None,
    target: Target = DEFAULT_TARGET,
    token: Token = None,
) -> None:
    """Give a model the memory of one user: a Model Context Protocol server, on stdio or on HTTP."""
    if find_spec("mcp") is None:
        raise _ended("`ricordo mcp` needs an extra. Install it: pip install 'ricordo[mcp]'", MISUSE)
    if first_given(user_id) is None:
        raise typer.BadParameter("it is blank", param_hint="--user-id")
    fixed = first_given(session_id)
    who = MemoryRequestContext(user_id=user_id, agent_id=agent_id, session_id=fixed or f"mcp-{uuid4()}")
    listener = None if http is None else _listen(http)
    if listener is None:  # the thread that reads stdin cannot be told to stop, and nothing here needs an end
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(_serve(target, token, store, who, fixed_session=fixed is not None, listener=listener))
    except MemoryClientError as error:
        raise _ended(str(error), MISUSE) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error


async def _serve(
    target: str,
    token: str | None,
    store: str | None,
    who: MemoryRequestContext,
    *,
    fixed_session: bool,
    listener: socket | None,
) -> None:
    from ricordo import mcp_server  # loaded by this command alone, for the extra may be missing

    credential = find_credential(token, None, None, None, None)
    async with AsyncClient(target, **credential, **connection_options()) as client:
        memory = AsyncMemory(client=client, store=store)
        server = mcp_server.make_server(mcp_server.MemoryTools(memory, who, fixed_session=fixed_session))
        if listener is None:
            await mcp_server.serve_stdio(server)
            return
        port = listener.getsockname()[1]
        typer.echo(f"Ricordo is ready on http://{HOST}:{port}{mcp_server.PATH}. Ctrl-C stops it.")
        await mcp_server.serve_http(server, listener)


def _listen(port: int) -> socket:
    try:
        return create_server((HOST, port))
    except OSError as error:
        raise _ended(
            f"port {port}: {os.strerror(error.errno or 0)}; choose another with --http", FAULT
        ) from error


def _ended(message: str, status: int) -> typer.Exit:
    typer.echo(f"ricordo: {message}", err=True)
    return typer.Exit(status)
