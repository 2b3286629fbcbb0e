"""Which other issuers' tokens are taken, and what their claims mean."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import UUID

from ricordo_server.domain.principal import Role

ROLES = {role.value: role for role in (Role.READER, Role.WRITER, Role.ADMIN)}


@dataclass(frozen=True)
class OidcSettings:
    """One OpenID Connect issuer. A claim inside another is named with dots: `resource_access.ricordo.roles`.

    Attributes:
        issuer: `iss` of its tokens, and where its keys are found, by discovery.
        audience: `aud` that a token must have: what this server is called there.
        jwks_url: Where its keys are, without discovery.
        project: All its tokens are for this project.
        project_claim: Or the claim that holds the project's id: the issuer is trusted for every project then.
        role: What a token may do where no claim says it.
        role_claim: The claim that says it; of several values the highest role counts.
        role_values: Its values, as `value=role` with commas between: `memory-admins=admin,staff=writer`. Without them
            the values are "reader", "writer" and "admin" themselves.
        user_claim: The claim that holds the end user, or a list: the person, then shared actors. Empty: its tokens
            are services, which may name any end user.
    """

    issuer: str
    audience: str
    jwks_url: str = ""
    project: UUID | None = None
    project_claim: str = ""
    role: str = ""
    role_claim: str = ""
    role_values: str = ""
    user_claim: str = "sub"

    def __post_init__(self) -> None:
        if not self.issuer or not self.audience:
            raise ValueError("an issuer needs `issuer` and `audience`")
        for url in filter(None, (self.issuer, self.jwks_url)):
            if not is_trustworthy(url):
                raise ValueError(f"{url} must be https: whoever answers there decides who may call")
        if (self.project is None) == (not self.project_claim):
            raise ValueError("give one of `project` and `project_claim`")
        if not self.role and not self.role_claim:
            raise ValueError("give `role`, `role_claim`, or both")
        if self.role and self.role not in ROLES:
            raise ValueError(f"there is no role {self.role!r}: choose from {', '.join(ROLES)}")
        self.roles_by_value()

    def roles_by_value(self) -> dict[str, Role]:
        """
        Raises:
            ValueError: a value without a role that there is.
        """
        if not self.role_values:
            return dict(ROLES)
        pairs = [pair.partition("=") for pair in self.role_values.split(",")]
        try:
            return {value.strip(): ROLES[role.strip()] for value, _, role in pairs}
        except KeyError as error:
            raise ValueError(f"role_values must be `value=role` with a role of {', '.join(ROLES)}") from error


def is_trustworthy(url: str) -> bool:
    """Encrypted, or of this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return bool(parts.hostname)
    host = parts.hostname or ""
    try:
        return parts.scheme == "http" and (host == "localhost" or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False
