"""What becomes of a memory when turns that it rests on are deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from ricordo_server.domain.memory import RevisionAction


@dataclass(frozen=True)
class Support:
    """A revision, and how many of its grounds (turns that were quoted together) break and stay whole. A person's
    revision has none.
    """

    revision: int
    action: RevisionAction
    broken: int
    whole: int

    @property
    def is_lost(self) -> bool:
        return self.broken > 0 and self.whole == 0


@dataclass(frozen=True)
class Forgetting:
    """`purge`: the memory goes with its history. Else the revisions in `remove` go, and where the memory says now
    what one of them said, it says again what the revision `restore` said.
    """

    purge: bool = False
    restore: int | None = None
    remove: Sequence[int] = ()


def ground_of(turn_ids: Sequence[str]) -> str:
    """What names these turns together, in whatever order."""
    if len(turn_ids) == 1:
        return turn_ids[0]
    return sha256("\n".join(sorted(turn_ids)).encode()).hexdigest()


def forget(supports: Sequence[Support]) -> Forgetting:
    """Of one memory, given all its revisions. What rests on the deleted turns alone is neither kept nor shown."""
    current = max(supports, key=lambda each: each.revision)
    lost = tuple(each.revision for each in supports if each.is_lost)
    if not current.is_lost:
        return Forgetting(remove=lost)
    earlier = [
        each.revision for each in supports if not each.is_lost and each.action is not RevisionAction.DELETED
    ]
    if current.action is RevisionAction.DELETED or not earlier:
        return Forgetting(purge=True)
    return Forgetting(restore=max(earlier), remove=lost)
