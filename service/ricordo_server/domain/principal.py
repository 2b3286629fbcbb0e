"""Who calls. The principal is made from the credential alone and travels through every layer."""

from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID


class PrincipalKind(StrEnum):
    SERVICE = "SERVICE"
    USER = "USER"
    OPERATOR = "OPERATOR"


class Role(StrEnum):
    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"
    OPERATOR = "operator"

    def implied(self) -> "frozenset[Role]":
        """The role with those it includes: an admin also writes, a writer also reads."""
        ladder = (Role.READER, Role.WRITER, Role.ADMIN)
        return frozenset(ladder[: ladder.index(self) + 1] if self in ladder else (self,))


WRITERS = frozenset({Role.WRITER, Role.ADMIN})


@dataclass(frozen=True)
class Principal:
    """A caller pinned to one project (None: an operator, who reads no memories).

    `user_ids` are the end users a USER principal is bound to: the person, and shared actors such as a team. A SERVICE
    principal may name any.
    """

    principal_id: str
    kind: PrincipalKind
    project_id: UUID | None
    roles: frozenset[Role]
    user_ids: tuple[str, ...] = ()

    @property
    def may_name_any_user(self) -> bool:
        return self.kind is PrincipalKind.SERVICE

    @property
    def may_write(self) -> bool:
        return bool(self.roles & WRITERS)

    @property
    def may_administer(self) -> bool:
        """The settings of a project hold for everyone in it: not an end user's to change."""
        return Role.ADMIN in self.roles and self.kind is PrincipalKind.SERVICE

    def acting_as(self, user_id: str) -> "Principal":
        """The same caller bound to one end user: it may do less, nowhere more."""
        role = Role.WRITER if self.may_write else Role.READER
        return replace(self, kind=PrincipalKind.USER, roles=role.implied(), user_ids=(user_id,))


def worker_of(project_id: UUID) -> Principal:
    """Who works in a project's background: in every store, restricted ones too."""
    return Principal("worker", PrincipalKind.SERVICE, project_id, Role.ADMIN.implied())


HOUSEKEEPER = Principal("worker", PrincipalKind.OPERATOR, None, frozenset({Role.OPERATOR}))
"""The worker in no project: it walks their list, and reads nobody's rows."""
