"""The program: `python -m ricordo_server`, and through the client's door the command `ricordo`."""

from ricordo_server.cli import app


def main() -> None:
    """Runs the command line; ends the program with its status."""
    app(prog_name="ricordo")


if __name__ == "__main__":
    main()
