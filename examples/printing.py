"""How the tour prints: numbered steps, quotes, one line each."""

import sys

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)


def tell(number: int, title: str, text: str) -> None:
    console.print(f"\n[bold cyan]{number}. {title}[/bold cyan]  {text}")


def show_line(text: str, style: str = "") -> None:
    console.print(Padding(one_line(text, style), (0, 0, 0, 3)))


def show_quote(text: str) -> None:
    show_line(text, "dim")


def one_line(text: str, style: str = "") -> Text:
    """The text on one line, cut where the line ends."""
    return Text(" ".join(text.split()), style=style, no_wrap=True, overflow="ellipsis")
