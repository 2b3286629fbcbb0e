"""How a host reaches the server: over the standard streams, or over HTTP on this machine."""

from socket import socket
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server

PATH = "/mcp"


async def serve_stdio(server: Server[Any]) -> None:
    """Serves the one host that started this program, until it closes the stream."""
    async with stdio_server() as (requests, answers):
        await server.run(requests, answers, server.create_initialization_options())


async def serve_http(server: Server[Any], listener: socket) -> None:
    """Serves streamable HTTP until a signal ends it.

    Requests whose Host or Origin is not this machine are refused, so that no page in a browser comes through.

    Args:
        server: What to serve; it keeps nothing between requests.
        listener: a bound socket of this machine alone.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, host="127.0.0.1"
    )
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    await uvicorn.Server(config).serve(sockets=[listener])
