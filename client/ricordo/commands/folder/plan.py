"""What has to be done so that files and entries are the same; pure.

Three texts are compared, by their digests: the file, the entry, and what both were after the last time. None is
absence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What is done at a path."""

    PUSH = "push"
    PULL = "pull"
    DELETE_ENTRY = "delete-entry"
    DELETE_FILE = "delete-file"
    CONFLICT = "conflict"


class Side(StrEnum):
    """Which side wins where both have changed."""

    FILES = "files"
    STORE = "store"


DELETIONS = (Action.DELETE_ENTRY, Action.DELETE_FILE)


@dataclass(frozen=True)
class Step:
    """What is done at a path; `reason` says why nothing can be."""

    path: str
    action: Action
    reason: str = ""


def decide(known: str | None, file: str | None, entry: str | None, prefer: Side | None) -> Action | None:
    """What is done at one path; None: both sides are the same."""
    if file == entry:
        return None
    if entry == known or (file != known and prefer is Side.FILES):
        return Action.DELETE_ENTRY if file is None else Action.PUSH
    if file == known or prefer is Side.STORE:
        return Action.DELETE_FILE if entry is None else Action.PULL
    return Action.CONFLICT


def plan(
    known: Mapping[str, str], files: Mapping[str, str], entries: Mapping[str, str], prefer: Side | None = None
) -> list[Step]:
    """The steps, by path."""
    paths = sorted({*known, *files, *entries})
    decided = ((path, decide(known.get(path), files.get(path), entries.get(path), prefer)) for path in paths)
    return [Step(path, action, _reason(action)) for path, action in decided if action]


def _reason(action: Action) -> str:
    return "both sides have changed: make them the same, or say --prefer" if action is Action.CONFLICT else ""
