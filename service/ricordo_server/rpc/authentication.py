"""Credentials to principals.

The development principal stands for "anyone on this machine": it is accepted only from a loopback address, only when
the operator turns it on, and the server's log says so. Its token is `development:<project id>` for a service,
`development:<project id>:<user>[,<user>...]` for an end user bound to these, `development:operator` for an operator;
no token means a service of the server's development project.
"""

import ipaddress
from uuid import UUID

from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.rpc.interceptors import Authenticator

SCHEME = "development"
SERVICE_ROLES = frozenset({Role.READER, Role.WRITER, Role.ADMIN})


def authenticator(development_project: UUID | None) -> Authenticator:
    def authenticate(token: str, peer: str) -> Principal:
        if development_project is None or not is_loopback(peer):
            raise _unauthenticated("this server accepts no credential from here")
        return _development_principal(token or f"{SCHEME}:{development_project}")

    return authenticate


def _development_principal(token: str) -> Principal:
    scheme, *parts = token.split(":", 2)
    if scheme != SCHEME or not parts:
        raise _unauthenticated("the token is none that this server knows: expected development:<project id>")
    if parts == [Role.OPERATOR]:
        return Principal("development-operator", PrincipalKind.OPERATOR, None, frozenset({Role.OPERATOR}))
    try:
        project_id = UUID(parts[0])
    except ValueError as error:
        raise _unauthenticated("the token holds no project id") from error
    if len(parts) == 1:
        return Principal("development", PrincipalKind.SERVICE, project_id, SERVICE_ROLES)
    users = tuple(user for user in parts[1].split(",") if user)
    if not users:
        raise _unauthenticated("the token binds to no user")
    return Principal(f"user:{users[0]}", PrincipalKind.USER, project_id, frozenset({Role.WRITER}), users)


def is_loopback(peer: str) -> bool:
    """Whether a gRPC peer such as `ipv4:127.0.0.1:5000` or `ipv6:%5B::1%5D:5000` is on this machine."""
    family, _, address = peer.partition(":")
    host = address.rpartition(":")[0].replace("%5B", "").replace("%5D", "").strip("[]")
    try:
        return family in ("ipv4", "ipv6") and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _unauthenticated(message: str) -> DomainError:
    return DomainError(Reason.UNAUTHENTICATED, message, "authorization")
