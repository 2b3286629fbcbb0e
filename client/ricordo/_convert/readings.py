"""Which rows a read of the facade may see: whose, how far they reach, of which session."""

from dataclasses import dataclass

from ricordo import identity
from ricordo._convert import enums
from ricordo.errors import MemoryClientError
from ricordo.models import Matching, MemoryRequestContext, ReadableBy, ScopeFilter, Visibility

READABLE = "readable"


@dataclass(frozen=True)
class Reading:
    """A read, resolved. `union` reads the user's own rows and all that is shared; else each field is one more AND."""

    user_id: str | None
    session_id: str | None
    visibility: Visibility | None
    union: bool = False

    def scope(self, *, session: bool = False) -> ScopeFilter | None:
        """The rows of that user, and of that session if asked; None: unconstrained."""
        session_id = (self.session_id if session else None) or ""
        if self.union:
            return ReadableBy(user_id=self.user_id or "", session_id=session_id)
        if not self.user_id and not session_id:
            return None
        return Matching(user_id=self.user_id or "", session_id=session_id)


def resolve_reading(
    call: MemoryRequestContext,
    bound: MemoryRequestContext,
    ambient: MemoryRequestContext,
    visibility: Visibility | str | None,
    *,
    own_session_only: bool = False,
) -> Reading:
    """Resolves who a read is for, and how far the rows it wants reach.

    Args:
        call: What the call names.
        bound: What `bind` named.
        ambient: What the ambient context names.
        visibility: `private`, `org`, or `readable`: the user's own and all that is shared.
        own_session_only: Take the session from the call alone, for consolidated episodes have none.

    Raises:
        MemoryClientError: No such visibility.
        MemoryIdentityError: `readable`, and nobody names a user.
    """
    union = isinstance(visibility, str) and visibility.lower() == READABLE
    wanted = None if union or visibility is None else _word(visibility)
    who = identity.resolve_read(call, bound, ambient, visibility=wanted, own_session_only=own_session_only)
    if union:
        identity.require(who.user_id, "user_id", "visibility='readable'")
    return Reading(who.user_id, who.session_id, wanted, union)


def _word(visibility: Visibility | str) -> Visibility:
    try:
        return enums.VISIBILITY.word(visibility)
    except MemoryClientError as error:
        raise MemoryClientError(f"{error}, {READABLE}") from None
