"""What a token of ours says, and which claims it is written in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from ricordo_server.domain.principal import PrincipalKind, Role
from ricordo_server.domain.service_account import ClientId, parse_client_id


@dataclass(frozen=True)
class IssuedToken:
    access_token: str = field(repr=False)
    expire_time: datetime


@dataclass(frozen=True)
class TokenSubject:
    """Whom a token is for.

    `client_id` is the service account itself, or the one that issued an end user's token and must stand as long as
    it is used; None where another credential did. `role` is what others read in it: this server asks the account.
    """

    subject: str
    kind: PrincipalKind
    project_id: UUID | None
    role: Role
    client_id: ClientId | None = None
    user_ids: Sequence[str] = ()

    def claims(self) -> dict[str, Any]:
        given = {
            "sub": self.subject,
            "kind": self.kind.lower(),
            "project_id": str(self.project_id) if self.project_id else None,
            "role": self.role.value,
            "client_id": str(self.client_id) if self.client_id else None,
            "user_ids": list(self.user_ids) or None,
        }
        return {name: value for name, value in given.items() if value is not None}


def subject_from(claims: Mapping[str, Any]) -> TokenSubject | None:
    """None where the claims contradict one another, or are not those of a token of ours."""
    try:
        subject = TokenSubject(
            subject=str(claims["sub"]),
            kind=PrincipalKind(claims["kind"].upper()),
            project_id=UUID(claims["project_id"]) if "project_id" in claims else None,
            role=Role(claims["role"]),
            client_id=parse_client_id(claims["client_id"]) if "client_id" in claims else None,
            user_ids=tuple(claims.get("user_ids", ())),
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return subject if _is_whole(subject, claims) else None


def _is_whole(subject: TokenSubject, claims: Mapping[str, Any]) -> bool:
    project, client = subject.project_id, subject.client_id
    if ("client_id" in claims) != (client is not None) or (client and client.project_id != project):
        return False
    if not all(isinstance(user, str) and user for user in subject.user_ids):
        return False
    match subject.kind:
        case PrincipalKind.SERVICE:
            return client is not None and not subject.user_ids
        case PrincipalKind.USER:
            return project is not None and bool(subject.user_ids)
        case PrincipalKind.OPERATOR:
            return project is None and client is None and subject.role is Role.OPERATOR
