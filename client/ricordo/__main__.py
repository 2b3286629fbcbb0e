"""The command `ricordo`: the server's, where the server is installed; else the client's, where its extra is."""

import sys
from importlib import import_module
from importlib.util import find_spec

# The commands of a client. They do not load the server's, even where those are: a host waits for `ricordo mcp`.
OF_THE_CLIENT = {"entries", "mcp", "operations", "pipelines", "sessions", "stores"}


def main() -> int | None:
    """Runs the command line of what is installed, or says what to install (exit status 2)."""
    has_commands = find_spec("typer") is not None
    has_server = has_commands and find_spec("sqlalchemy") is not None
    if has_commands and (not has_server or OF_THE_CLIENT.intersection(sys.argv[1:2])):
        return _run("ricordo.commands")
    if has_server:
        return _run("ricordo_server.__main__")
    sys.stderr.write(
        "The command `ricordo` comes with the server, which is not installed here. Install it:\n"
        "    pip install 'ricordo[server,embedded,local]'\n"
        "or, for `ricordo stores`, `entries`, `sessions`, `pipelines` and `operations` alone:\n"
        "    pip install 'ricordo[cli]'\n"
        "or, for these and `ricordo mcp`:\n"
        "    pip install 'ricordo[mcp]'\n"
    )
    return 2


def _run(program: str) -> int | None:
    status: int | None = import_module(program).main()
    return status


if __name__ == "__main__":
    sys.exit(main())
