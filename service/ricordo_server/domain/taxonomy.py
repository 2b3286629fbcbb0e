"""The vocabulary of a store: its domains, each with terms."""

from dataclasses import dataclass

from ricordo_server.domain.scope import EVERY_SCOPE, ScopeFilter, Visibility


@dataclass(frozen=True)
class Domain:
    name: str
    term_count: int


@dataclass(frozen=True)
class DomainQuery:
    """Whose terms count; empty fields do not restrict."""

    scope: ScopeFilter = EVERY_SCOPE
    visibility: Visibility | None = None
