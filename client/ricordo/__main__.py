"""The command `ricordo`: the server's, where the server is installed; else the client's, where its extra is."""

import sys
from importlib import import_module
from importlib.util import find_spec


def main() -> int | None:
    """Runs the command line of what is installed, or says what to install (exit status 2)."""
    has_server, has_mcp = _has("sqlalchemy"), _has("mcp")
    # A host waits for its servers: `ricordo mcp` does not load the server's commands, even where they are.
    if has_mcp and (sys.argv[1:2] == ["mcp"] or not has_server):
        return _run("ricordo.commands")
    if has_server:
        return _run("ricordo_server.__main__")
    sys.stderr.write(
        "The command `ricordo` comes with the server, which is not installed here. Install it:\n"
        "    pip install 'ricordo[server,embedded,local]'\n"
        "or, for `ricordo mcp` alone:\n"
        "    pip install 'ricordo[mcp]'\n"
    )
    return 2


def _has(library: str) -> bool:
    """Whether the extra is installed whose library that is."""
    return find_spec(library) is not None and find_spec("typer") is not None


def _run(program: str) -> int | None:
    status: int | None = import_module(program).main()
    return status


if __name__ == "__main__":
    sys.exit(main())
