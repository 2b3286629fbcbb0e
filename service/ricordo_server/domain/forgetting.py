"""What becomes of a memory when turns that it rests on are deleted."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ricordo_server.domain.memory import RevisionAction


@dataclass(frozen=True)
class Support:
    """A revision, and how many of the turns it rests on go and stay. A person's revision rests on none."""

    revision: int
    action: RevisionAction
    going: int
    staying: int

    @property
    def is_lost(self) -> bool:
        return self.going > 0 and self.staying == 0


@dataclass(frozen=True)
class Forgetting:
    """`purge`: the memory goes with its history. Else the revisions in `remove` go, and where the memory says now
    what one of them said, it says again what the revision `restore` said.
    """

    purge: bool = False
    restore: int | None = None
    remove: Sequence[int] = field(default_factory=tuple)


def forget(supports: Sequence[Support]) -> Forgetting:
    """Of one memory, given all its revisions. What rests on the deleted turns alone is neither kept nor shown."""
    current = max(supports, key=lambda each: each.revision)
    lost = [each.revision for each in supports if each.is_lost]
    if not current.is_lost:
        return Forgetting(remove=lost)
    earlier = [
        each.revision for each in supports if not each.is_lost and each.action is not RevisionAction.DELETED
    ]
    if current.action is RevisionAction.DELETED or not earlier:
        return Forgetting(purge=True)
    return Forgetting(restore=max(earlier), remove=lost)
