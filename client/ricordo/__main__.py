"""The command `ricordo`: the server's, where the server is installed."""

import sys
from importlib import import_module
from importlib.util import find_spec


def main() -> int | None:
    """Runs the server's command line, or says what to install (exit status 2)."""
    if find_spec("ricordo_server") is None or find_spec("typer") is None:
        sys.stderr.write(
            "The command `ricordo` comes with the server, which is not installed here. Install it:\n"
            "    pip install 'ricordo[server,embedded,local]'\n"
        )
        return 2
    status: int | None = import_module("ricordo_server.__main__").main()
    return status


if __name__ == "__main__":
    sys.exit(main())
