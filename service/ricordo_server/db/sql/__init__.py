"""Tuned statements, one file each; the first line of each says why it is no Core statement."""

from functools import cache
from importlib import resources


@cache
def load_sql(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.sql").read_text()
