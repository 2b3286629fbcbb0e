"""Options that several commands share."""

from typing import Annotated

import typer

DEFAULT_STORE = "default"

Store = Annotated[str, typer.Option(envvar="RICORDO_STORE", help="The store's id, or memory-stores/<id>.")]
PageToken = Annotated[str, typer.Option(help="Where to continue.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
