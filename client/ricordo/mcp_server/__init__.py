"""A Model Context Protocol server that gives a model the memory of one user. Needs the extra `mcp`."""

from ricordo.mcp_server.server import make_server
from ricordo.mcp_server.tools import MemoryTools
from ricordo.mcp_server.transports import PATH, serve_http, serve_stdio

__all__ = ["PATH", "MemoryTools", "make_server", "serve_http", "serve_stdio"]
