"""Whose and where something is, and which rows a read may see."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Visibility(StrEnum):
    PRIVATE = "PRIVATE"
    PROJECT = "PROJECT"


@dataclass(frozen=True)
class Scope:
    """At most 5 pairs; None is "not given"."""

    user_id: str | None = None
    session_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def pair_count(self) -> int:
        return (self.user_id is not None) + (self.session_id is not None) + len(self.labels)

    @property
    def key(self) -> str:
        """A digest of the exact scope: equal scopes, equal keys; 43 characters however long the values.

        The text itself would not fit a B-tree entry (5 pairs of 1 KiB against 2,704 bytes).
        """
        canonical = json.dumps(
            [self.user_id, self.session_id, sorted(self.labels.items())], ensure_ascii=True
        )
        return hashlib.sha256(canonical.encode()).hexdigest()[:43]


@dataclass(frozen=True)
class Matching:
    """Each field given is one more equality; each omitted field is unconstrained."""

    scope: Scope


@dataclass(frozen=True)
class Exactly:
    """The same keys and values, nothing more."""

    scope: Scope


@dataclass(frozen=True)
class ReadableBy:
    """The user's own rows plus everything shared; with a session, of that session only."""

    user_id: str
    session_id: str | None = None


ScopeFilter = Matching | Exactly | ReadableBy
EVERY_SCOPE = Matching(Scope())


def named_user(scope: ScopeFilter) -> str | None:
    """The end user a scope filter names, if any."""
    return scope.user_id if isinstance(scope, ReadableBy) else scope.scope.user_id
