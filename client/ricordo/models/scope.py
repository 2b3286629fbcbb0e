"""Whose something is and where it is, and which rows a read may see."""

from typing import TypeAlias

from pydantic import Field

from ricordo.models.base import Model


class Scope(Model):
    """Whose and where something is; immutable once written.

    At most 5 pairs in all (user, session, labels), compared case-sensitively; values of at most 512 bytes
    without `*`. An empty string is "not given".
    """

    user_id: str = ""
    session_id: str = ""
    labels: dict[str, str] = Field(default_factory=dict)


class Matching(Scope):
    """Rows with these values: each field given is one more equality, each omitted field is unconstrained."""


class Exactly(Scope):
    """Rows with the same keys and values and nothing more. Empty is refused with SCOPE_REQUIRED."""


class ReadableBy(Model):
    """That user's own rows plus everything shared in the store; with a session, of that session only.

    In a context the session holds for turns only.
    """

    user_id: str
    session_id: str = ""


ScopeFilter: TypeAlias = Matching | Exactly | ReadableBy
"""Which rows a read may see; none given means every row of the store that the credential may read."""
