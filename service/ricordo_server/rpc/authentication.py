"""Credentials to principals.

The development principal stands for "anyone on this machine": it is accepted only from a loopback address, only when
the operator turns it on, and the server's log says so. Its token is `development:<project id>` for a service,
`development:<project id>:<user>[,<user>...]` for an end user bound to these, `development:operator` for an operator;
no token means a service of the server's development project. Every other token is a signed one.
"""

import ipaddress
from collections.abc import Awaitable, Callable
from uuid import UUID

from ricordo_server.domain.errors import unauthenticated
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.rpc.interceptors import Authenticator

SCHEME = "development"
SERVICE_ROLES = frozenset({Role.READER, Role.WRITER, Role.ADMIN})


def authenticator(
    development_project: UUID | None, read_token: Callable[[str], Awaitable[Principal]]
) -> Authenticator:
    """`read_token` is for signed tokens, see `app.access_tokens`."""

    async def authenticate(token: str, peer: str) -> Principal:
        if token and not token.startswith(f"{SCHEME}:"):
            return await read_token(token)
        if development_project is None or not is_loopback(peer):
            raise unauthenticated()
        return _development_principal(token or f"{SCHEME}:{development_project}")

    return authenticate


def _development_principal(token: str) -> Principal:
    _, *parts = token.split(":", 2)
    if parts == [Role.OPERATOR]:
        return Principal("development-operator", PrincipalKind.OPERATOR, None, frozenset({Role.OPERATOR}))
    try:
        project_id = UUID(parts[0])
    except ValueError as error:
        raise unauthenticated() from error
    if len(parts) == 1:
        return Principal("development", PrincipalKind.SERVICE, project_id, SERVICE_ROLES)
    users = tuple(user for user in parts[1].split(",") if user)
    if not users:
        raise unauthenticated()
    return Principal(f"user:{users[0]}", PrincipalKind.USER, project_id, frozenset({Role.WRITER}), users)


def is_loopback(peer: str) -> bool:
    """Whether a gRPC peer is on this machine."""
    address = peer_address(peer)
    return address is not None and address.is_loopback


def peer_address(peer: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """That of a gRPC peer such as `ipv4:127.0.0.1:5000` or `ipv6:%5B::1%5D:5000`; None for one that has none."""
    family, _, address = peer.partition(":")
    host = address.rpartition(":")[0].replace("%5B", "").replace("%5D", "").strip("[]")
    try:
        return ipaddress.ip_address(host) if family in ("ipv4", "ipv6") else None
    except ValueError:
        return None


def peer_network(peer: str) -> str:
    """What one caller is known by: an address, or the 64 bits that its holder of IPv6 addresses is given at least."""
    address = peer_address(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address or peer)
