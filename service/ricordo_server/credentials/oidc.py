"""Tokens of other issuers (OpenID Connect), and what their claims mean here."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from ricordo_server.credentials.issuer_keys import IssuerKeys
from ricordo_server.credentials.settings import ROLES, OidcSettings
from ricordo_server.credentials.signed_tokens import BadTokenError, Unverified, verify
from ricordo_server.domain.limits import MAX_NAME_BYTES, MAX_TOKEN_USERS
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.domain.timed_cache import Clock


@dataclass(frozen=True)
class Issuer:
    """`name` is that of its settings."""

    name: str
    settings: OidcSettings
    keys: IssuerKeys

    def has_issued(self, unverified: Unverified) -> bool:
        """By its own word: an issuer may be set up several times, for several audiences."""
        return unverified.issuer == self.settings.issuer and self.settings.audience in unverified.audiences

    async def read(self, unverified: Unverified) -> Principal:
        """Whom a token stands for; whether its project exists is not asked here.

        Raises:
            BadTokenError: it is not accepted.
            DomainError: ISSUER_UNAVAILABLE.
        """
        key = await self.keys.find(unverified.key_id)
        if key is None:
            raise BadTokenError("a key that its issuer has not")
        claims = verify(
            unverified,
            key.key,
            algorithms=key.algorithms,
            issuer=self.settings.issuer,
            audience=self.settings.audience,
        )
        project_id, role = find_project(self.settings, claims), find_role(self.settings, claims)
        if not self.settings.user_claim:
            service_id = f"{self.name}:{claims['sub']}"
            return Principal(service_id, PrincipalKind.SERVICE, project_id, role.implied())
        users = find_users(self.settings, claims)
        capped = Role.WRITER if role is Role.ADMIN else role
        return Principal(f"user:{users[0]}", PrincipalKind.USER, project_id, capped.implied(), users)


def make_issuer(
    name: str, settings: OidcSettings, client: httpx.AsyncClient, clock: Clock = time.monotonic
) -> Issuer:
    return Issuer(name, settings, IssuerKeys(settings, client, clock))


def find_project(settings: OidcSettings, claims: Mapping[str, Any]) -> UUID:
    if settings.project is not None:
        return settings.project
    try:
        [text] = read_texts(claims, settings.project_claim)
        return UUID(text)
    except ValueError as error:
        raise BadTokenError("a claim that names no project, or several") from error


def find_role(settings: OidcSettings, claims: Mapping[str, Any]) -> Role:
    """The highest that a value of the claim stands for."""
    roles = settings.roles_by_value()
    values = read_texts(claims, settings.role_claim) if settings.role_claim else ()
    granted = {roles[value] for value in values if value in roles}
    granted |= {ROLES[settings.role]} if settings.role else set()
    for role in (Role.ADMIN, Role.WRITER, Role.READER):
        if role in granted:
            return role
    raise BadTokenError("no claim that stands for a role")


def find_users(settings: OidcSettings, claims: Mapping[str, Any]) -> tuple[str, ...]:
    users = tuple(read_texts(claims, settings.user_claim))
    are_names = all(
        user.strip() and "\x00" not in user and len(user.encode()) <= MAX_NAME_BYTES for user in users
    )
    if not are_names or not 1 <= len(users) <= MAX_TOKEN_USERS:
        raise BadTokenError("a claim that names no end user")
    return users


def read_texts(claims: Mapping[str, Any], path: str) -> Sequence[str]:
    """The texts of a claim: of the one named exactly so, else of one inside others, with dots between."""
    value: Any = claims
    for name in (path,) if path in claims else path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return []
    return value
