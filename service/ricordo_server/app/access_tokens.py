"""Tokens: from one to the principal it stands for, and new ones for service accounts and end users."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from ricordo_server.app.key_ring import KeyRing, Now, OpenKey, utc_now
from ricordo_server.app.permissions import denied
from ricordo_server.app.standing import ASK_SECONDS, Standing, asker
from ricordo_server.credentials.oidc import Issuer
from ricordo_server.credentials.secrets import SecretHashing, find_secret_id
from ricordo_server.credentials.signed_tokens import (
    OWN_ALGORITHM,
    OWN_TYPE,
    BadTokenError,
    Unverified,
    read_unverified,
    sign,
    verify,
)
from ricordo_server.db.connection import NO_PROJECT, Pool, project_transaction
from ricordo_server.db.service_accounts import find_hash, note_use
from ricordo_server.domain.access_token import IssuedToken, TokenSubject, subject_from
from ricordo_server.domain.errors import unauthenticated
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.domain.service_account import ClientId, parse_client_id
from ricordo_server.domain.signing_key import MAX_TOKEN_LIFETIME

log = logging.getLogger("ricordo.credentials")

# An end user's token leaves the service that asked for it.
USER_TOKEN_LIFETIME = timedelta(minutes=15)
NOBODY = ClientId(NO_PROJECT, NO_PROJECT)


@dataclass(frozen=True)
class TokenNames:
    """What our tokens say of who issues them and for whom."""

    issuer: str
    audience: str


class AccessTokens:
    def __init__(
        self,
        pool: Pool,
        names: TokenNames,
        *,
        key_ring: KeyRing,
        standing: Standing,
        hashing: SecretHashing,
        issuers: Sequence[Issuer] = (),
        now: Now = utc_now,
    ) -> None:
        self._pool = pool
        self._names = names
        self.key_ring = key_ring
        self._standing = standing
        self._hashing = hashing
        self._issuers = issuers
        self._now = now

    async def authenticate(self, token: str) -> Principal:
        """Whom a bearer token stands for.

        Raises:
            DomainError: UNAUTHENTICATED, with one text for every cause: the log has it. ISSUER_UNAVAILABLE.
        """
        try:
            return await self._read(read_unverified(token))
        except BadTokenError as error:
            log.info("credential refused", extra={"cause": error.cause})
            raise unauthenticated() from error

    async def _read(self, unverified: Unverified) -> Principal:
        if unverified.issuer == self._names.issuer:
            return await self._read_own(unverified)
        for issuer in self._issuers:
            if issuer.has_issued(unverified):
                return await self._read_other(issuer, unverified)
        raise BadTokenError("an issuer that is not known, or for another audience")

    async def _read_other(self, issuer: Issuer, unverified: Unverified) -> Principal:
        principal = await issuer.read(unverified)
        if principal.project_id is None or not await self._standing.project_exists(principal.project_id):
            raise BadTokenError("a project that is not there")
        return principal

    async def _read_own(self, unverified: Unverified) -> Principal:
        key = await self.key_ring.find_public(unverified.key_id)
        if key is None or unverified.type != OWN_TYPE:
            raise BadTokenError("a key that is unknown or retired, or another type of token")
        claims = verify(
            unverified,
            key,
            algorithms=[OWN_ALGORITHM],
            issuer=self._names.issuer,
            audience=self._names.audience,
        )
        subject = subject_from(claims)
        if subject is None:
            raise BadTokenError("claims that contradict one another")
        return await self._find_principal(subject)

    async def _find_principal(self, subject: TokenSubject) -> Principal:
        if subject.project_id is None:
            return Principal(subject.subject, PrincipalKind.OPERATOR, None, frozenset({Role.OPERATOR}))
        role: Role | None = subject.role
        if subject.client_id is not None:
            role = await self._standing.find_role(subject.client_id)
        elif not await self._standing.project_exists(subject.project_id):
            role = None
        if role is None:
            raise BadTokenError("an account or project that is disabled or gone")
        if subject.kind is PrincipalKind.USER:
            role = user_role(role)
        return Principal(
            subject.subject, subject.kind, subject.project_id, role.implied(), tuple(subject.user_ids)
        )

    async def authenticate_client(self, client_id: str, client_secret: str) -> Principal:
        """The service account of this id and secret; one that is unknown, disabled or wrong costs the same work.

        Raises:
            DomainError: UNAUTHENTICATED, TOO_MANY_REQUESTS.
        """
        client = parse_client_id(client_id) or NOBODY
        who = asker(client.project_id)
        async with project_transaction(self._pool, who, timeout=ASK_SECONDS) as connection:
            kept = await find_hash(connection, client.account_id, find_secret_id(client_secret))
        if not await self._hashing.matches(client_secret, kept):
            raise unauthenticated("client_id")
        async with project_transaction(self._pool, who, timeout=ASK_SECONDS) as connection:
            role = await note_use(connection, client.account_id)
        if role is None:
            raise unauthenticated("client_id")
        return Principal(str(client), PrincipalKind.SERVICE, client.project_id, role.implied())

    async def issue_own(self, principal: Principal, lifetime: timedelta | None) -> IssuedToken:
        """For a service account that has shown its secret."""
        subject = TokenSubject(
            principal.principal_id,
            PrincipalKind.SERVICE,
            principal.project_id,
            highest(principal),
            parse_client_id(principal.principal_id),
        )
        return await self._issue(subject, lifetime or MAX_TOKEN_LIFETIME)

    async def issue_for_users(
        self, principal: Principal, user_ids: Sequence[str], lifetime: timedelta | None
    ) -> IssuedToken:
        """For an end user's own client: bound to the users, the first of whom is the person.

        Raises:
            DomainError: PERMISSION_DENIED unless a service that may write asks.
        """
        if not principal.may_name_any_user or not principal.may_write:
            raise denied("only a service that may write issues tokens for end users", required=Role.WRITER)
        subject = TokenSubject(
            f"user:{user_ids[0]}",
            PrincipalKind.USER,
            principal.project_id,
            Role.WRITER,
            parse_client_id(principal.principal_id),
            user_ids,
        )
        return await self._issue(subject, lifetime or USER_TOKEN_LIFETIME)

    async def _issue(self, subject: TokenSubject, lifetime: timedelta) -> IssuedToken:
        return sign_token(await self.key_ring.find_active(), self._names, subject, lifetime, self._now)


def sign_token(
    key: OpenKey, names: TokenNames, subject: TokenSubject, lifetime: timedelta, now: Now = utc_now
) -> IssuedToken:
    issue_time = now().replace(microsecond=0)
    expire_time = issue_time + lifetime
    claims = {
        "iss": names.issuer,
        "aud": names.audience,
        "iat": issue_time,
        "exp": expire_time,
        "jti": str(uuid4()),
        **subject.claims(),
    }
    return IssuedToken(sign(claims, key.key.key_id, key.private_key), expire_time)


def highest(principal: Principal) -> Role:
    return next(role for role in (Role.ADMIN, Role.WRITER, Role.READER) if role in principal.roles)


def user_role(role: Role) -> Role:
    """An end user does no more than write, and no more than the account that its token is from."""
    return Role.WRITER if Role.WRITER in role.implied() else Role.READER
