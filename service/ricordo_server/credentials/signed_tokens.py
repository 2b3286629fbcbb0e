"""Signed tokens (JWT), read strictly: PyJWT checks signature and claims, this what comes before that.

The header of a token is its bearer's word: `kid` is used to look a key up among those already known, `alg` must be
one of that key's type, and what would tell where to find a key is refused.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ricordo_server.domain.signing_key import LEEWAY

# gRPC itself refuses metadata beyond 8 to 16 KiB.
MAX_TOKEN_CHARACTERS = 8 * 1024
MAX_KEY_ID_CHARACTERS = 256
COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
# They would let the bearer bring a key, or change what the signature means.
REFUSED_HEADERS = frozenset({"jku", "jwk", "x5u", "x5c", "crit", "b64", "zip"})
REQUIRED_CLAIMS = ("iss", "aud", "sub", "exp", "iat")

OWN_ALGORITHM = "EdDSA"
OWN_TYPE = "at+jwt"


class BadTokenError(Exception):
    """The token is not accepted. `cause` is for the server's log: it holds nothing of the token."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True)
class Unverified:
    """What a token says of itself, before anybody has checked it."""

    token: str
    algorithm: str
    key_id: str
    type: str
    issuer: str
    audiences: Sequence[str]


def read_unverified(token: str) -> Unverified:
    """The few claims by which a token's key is found.

    Raises:
        BadTokenError: it is no token in compact form, or has a header that none may have.
    """
    compact = COMPACT.fullmatch(token) if len(token) <= MAX_TOKEN_CHARACTERS else None
    if compact is None:
        raise BadTokenError("no token in compact form")
    header, claims = (_read_object(part) for part in compact.groups())
    if REFUSED_HEADERS & header.keys():
        raise BadTokenError("a header that none may have")
    audience = claims.get("aud")
    return Unverified(
        token,
        algorithm=_text(header.get("alg")),
        key_id=_text(header.get("kid"))[: MAX_KEY_ID_CHARACTERS + 1],
        type=_text(header.get("typ")).lower(),
        issuer=_text(claims.get("iss")),
        audiences=[audience] if isinstance(audience, str) else [_text(each) for each in audience or ()],
    )


def _read_object(part: str) -> dict[str, Any]:
    try:
        parsed = json.loads(
            base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)),
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        raise BadTokenError("a part that is no JSON object") from error
    if not isinstance(parsed, dict):
        raise BadTokenError("a part that is no JSON object")
    return parsed


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two they take: so nobody gets both past."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name twice")
    return made


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def verify(
    unverified: Unverified, key: Any, *, algorithms: Sequence[str], issuer: str, audience: str
) -> Mapping[str, Any]:
    """The claims, once the signature and the times hold.

    Args:
        unverified: The token.
        key: A public key of the type that `algorithms` are for.
        algorithms: What this key may have signed with.
        issuer: Who must have issued it.
        audience: For whom it must be.

    Raises:
        BadTokenError: it is not accepted.
    """
    if unverified.algorithm not in algorithms:
        raise BadTokenError("an algorithm that its key is not for")
    try:
        claims: dict[str, Any] = jwt.decode(
            unverified.token,
            key,
            algorithms=list(algorithms),
            issuer=issuer,
            audience=audience,
            leeway=LEEWAY,
            options={"require": list(REQUIRED_CLAIMS), "enforce_minimum_key_length": True},
        )
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise BadTokenError(type(error).__name__) from error
    return claims


def sign(claims: Mapping[str, Any], key_id: str, key: Ed25519PrivateKey) -> str:
    return jwt.encode(dict(claims), key, algorithm=OWN_ALGORITHM, headers={"kid": key_id, "typ": OWN_TYPE})


def public_jwk(key_id: str, key: Ed25519PrivateKey) -> dict[str, str]:
    """The public half, as RFC 8037 writes it."""
    raw = base64.urlsafe_b64encode(key.public_key().public_bytes_raw()).rstrip(b"=").decode()
    return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": OWN_ALGORITHM, "kid": key_id, "x": raw}
